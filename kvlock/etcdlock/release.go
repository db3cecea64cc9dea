package etcdlock

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Release deletes the entry of g, if it is the one that was granted: by its key, which has the nonce,
// and by the revision that created it, which is the token.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := errors.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	if b.wasReleased(g) {
		return nil
	}
	h := b.held(g)
	deleted, err := b.remove(ctx, g)
	if err != nil {
		if err = classify(err); h != nil && !driver.IsNotApplied(err) {
			b.mu.Lock()
			h.leaving = true
			h.session.doubted = true
			b.mu.Unlock()
		}
		return err
	}
	if !deleted {
		if err := b.deletedBefore(ctx, h); err != nil {
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

// remove deletes the entry of g; of any token if g has none.
func (b *Backend) remove(ctx context.Context, g driver.Grant) (bool, error) {
	entry := b.entry(g.Key, g.Nonce)
	if g.Token == 0 {
		reply, err := b.client.Delete(ctx, entry)
		return err == nil && reply.Deleted > 0, err
	}
	reply, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(entry), "=", int64(g.Token))).
		Then(clientv3.OpDelete(entry)).
		Commit()
	return err == nil && reply.Succeeded, err
}

// deletedBefore is nil if an entry that is gone was deleted by an earlier release that was not answered:
// if the session still lives, the entry cannot have ended with it.
func (b *Backend) deletedBefore(ctx context.Context, h *hold) error {
	if h == nil {
		return driver.ErrNotHeld
	}
	b.mu.Lock()
	leaving := h.leaving
	b.mu.Unlock()
	if !leaving {
		return driver.ErrNotHeld
	}
	err := b.beat(ctx, h.session)
	if errors.Is(err, errLeaseLost) {
		return driver.ErrNotHeld
	}
	return err
}
