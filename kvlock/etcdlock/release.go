package etcdlock

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Release deletes the entry of g if the entry still exists as it was granted. The same transaction records the tick of
// g. The release of the last share deletes the lock's epoch.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if g.Shared { // several readers hold the lock, so they record no ticks
		g.Done = ""
	}
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
	deleted, last, err := b.remove(undated{ctx}, h, g)
	if err != nil {
		if g.Done != "" && errors.Is(err, rpctypes.ErrNoSpace) {
			return b.removeAlone(ctx, h, g, err)
		}
		if err = classify(err); !driver.IsNotApplied(err) {
			b.mu.Lock()
			h.leaving = true
			h.session.doubted = true
			b.mu.Unlock()
		}
		return err
	}
	if !deleted && (g.Done == "" || last.Token != g.Token) {
		if err := b.deletedBefore(ctx, h, g); err != nil {
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

// remove deletes the entry of g and records the tick of g, if the entry exists as it was granted. It reports whether
// the entry was deleted. If the entry was not deleted and g has a tick, remove also returns the lock's last tick. If g
// has token zero, remove deletes the entry whatever its revision is. Such an entry may belong to a waiter, so remove
// then neither records a tick nor ends the epoch.
func (b *Backend) remove(ctx context.Context, h *hold, g driver.Grant) (deleted bool, last tick, err error) {
	if g.Token == 0 {
		reply, err := b.delete(ctx, h.entry)
		return err == nil && reply.Deleted > 0, tick{}, err
	}
	then, otherwise := []clientv3.Op{clientv3.OpDelete(h.entry)}, []clientv3.Op(nil)
	if g.Shared { // etcd evaluates this comparison before the deletion, so the condition is that no share other than g exists
		last := clientv3.Compare(clientv3.CreateRevision(b.shares(g.Key)), "=", b.revision(h)).WithPrefix()
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{last}, []clientv3.Op{clientv3.OpDelete(b.epochKey(g.Key))}, nil))
	}
	if g.Done != "" {
		then, otherwise = append(then, b.record(g)), []clientv3.Op{b.recorded(g.Key)}
	}
	reply, err := b.commit(ctx, []clientv3.Cmp{b.granted(h)}, then, otherwise)
	if err == nil && !reply.Succeeded && g.Done != "" {
		last = tickOf(reply, 0)
	}
	return err == nil && reply.Succeeded, last, err
}

// removeAlone deletes the entry of g without recording the tick, because etcd has no space for the tick. A deletion
// needs no space. The request that failed with err may have been executed (see undo), so the outcome of the release is
// unknown.
func (b *Backend) removeAlone(ctx context.Context, h *hold, g driver.Grant, err error) error {
	alone := g
	alone.Done = ""
	if _, _, failed := b.remove(undated{ctx}, h, alone); failed != nil {
		return err
	}
	b.forget(g)
	return fmt.Errorf("etcdlock: the release of %q may have recorded no tick: %w", g.Key, err)
}

// deletedBefore returns nil if an earlier release of g, which got no answer, has deleted the missing entry. It checks
// that the session still lives, because the end of the session also deletes the entry. If g has a tick, it returns
// driver.ErrNotHeld, because the caller has found that no release recorded the tick.
func (b *Backend) deletedBefore(ctx context.Context, h *hold, g driver.Grant) error {
	if !b.isLeaving(h) || g.Done != "" {
		return driver.ErrNotHeld
	}
	err := b.beat(ctx, h.session)
	if errors.Is(err, errLeaseLost) {
		return driver.ErrNotHeld
	}
	return err
}
