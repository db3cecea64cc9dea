package etcdlock

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Pause detaches the key of g from its lease, so that the key outlives every session. The key stays at the head
// of the queue, and keeps its revision, which is its token. The session does not use the key again.
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	paused := ending{as, g.Token}
	if b.hasEnded(paused) {
		return nil
	}
	e, h := b.held(g)
	if e == nil || g.Shared { // a shared lock cannot be paused, because its other holders would keep it
		return driver.ErrNotHeld
	}
	reply, err := b.commit(ctx, []clientv3.Cmp{created(e.path, h.revision)}, []clientv3.Op{clientv3.OpPut(e.path, "", clientv3.WithIgnoreValue())}, nil)
	switch {
	case err != nil:
		return classify(err)
	case !reply.Succeeded:
		return driver.ErrNotHeld
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended.Put(paused, struct{}{})
	b.strike(e)
	e.session.entries[e.path] = nil // the key still exists
	return nil
}
