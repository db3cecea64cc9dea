package etcdlock

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Pause detaches the entry of g from its lease, so that the entry outlives every session. The entry stays at the head
// of the queue, and keeps its revision, which is its token. The session does not reuse the entry's key.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	paused := driver.Grant{Nonce: as, Token: g.Token}
	b.mu.Lock()
	before := b.paused.has(paused)
	b.mu.Unlock()
	h := b.held(g)
	switch {
	case before:
		return nil
	case h == nil || g.Shared: // a shared lock cannot be paused, because its other holders would keep it
		return driver.ErrNotHeld
	}
	reply, err := b.commit(undated{ctx}, []clientv3.Cmp{b.granted(h)}, []clientv3.Op{clientv3.OpPut(h.entry, "", clientv3.WithIgnoreValue())}, nil)
	switch {
	case err != nil:
		return classify(err)
	case !reply.Succeeded:
		return driver.ErrNotHeld
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holds, g.Nonce)
	b.paused.add(paused)
	return nil
}
