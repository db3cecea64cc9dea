package etcdlock

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Release deletes the entry of g if the entry's create revision is the token of g.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	if b.wasReleased(g) {
		return nil
	}
	h := b.find(g)
	if h == nil {
		return driver.ErrNotHeld
	}
	deleted, err := b.remove(undated{ctx}, h.entry, g.Token)
	if err != nil {
		if err = classify(err); !driver.IsNotApplied(err) {
			b.mu.Lock()
			h.leaving = true
			h.session.doubted = true
			b.mu.Unlock()
		}
		return err
	}
	if !deleted {
		if err := b.deletedBefore(ctx, h); err != nil {
			if errors.Is(err, driver.ErrNotHeld) {
				b.forget(g)
			}
			return err
		}
	}
	b.forget(g)
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.Token != 0 {
		b.released.add(g)
	}
	return nil
}

func (b *Backend) wasReleased(g driver.Grant) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return g.Token != 0 && b.released.has(g)
}

// remove deletes an entry if it has that token, and reports whether it has done so. Token zero matches any entry.
func (b *Backend) remove(ctx context.Context, entry string, token driver.Token) (bool, error) {
	if token == 0 {
		reply, err := b.delete(ctx, entry)
		return err == nil && reply.Deleted > 0, err
	}
	granted := clientv3.Compare(clientv3.CreateRevision(entry), "=", int64(token))
	reply, err := b.commit(ctx, []clientv3.Cmp{granted}, []clientv3.Op{clientv3.OpDelete(entry)}, nil)
	return err == nil && reply.Succeeded, err
}

// deletedBefore returns nil if an earlier release of h, which got no answer, has deleted the missing entry. It checks
// that the session still lives, because the end of the session also deletes the entry.
func (b *Backend) deletedBefore(ctx context.Context, h *hold) error {
	if !b.isLeaving(h) {
		return driver.ErrNotHeld
	}
	err := b.beat(ctx, h.session)
	if errors.Is(err, errLeaseLost) {
		return driver.ErrNotHeld
	}
	return err
}
