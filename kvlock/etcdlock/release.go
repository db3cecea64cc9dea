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

// ending identifies a released grant, or a pause by its own nonce and the token of the grant that it replaced.
type ending struct {
	nonce driver.Nonce
	token driver.Token
}

// hasEnded reports whether an earlier release or pause has succeeded, so that a repeated one succeeds again.
func (b *Backend) hasEnded(e ending) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.ended.Get(e)
	return known
}

// Release deletes the key of g if the key still exists as it was granted. The same transaction records the tick of g. The
// release of the last share deletes the lock's epoch. If g has token zero, Release deletes the key whatever its revision
// is. Such a key may belong to a waiter, so Release then neither records a tick nor ends the epoch.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if g.Shared { // several readers hold the lock, so they record no ticks
		g.Done = ""
	}
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	if b.hasEnded(ending{g.Nonce, g.Token}) {
		return nil
	}
	e, h := b.held(g)
	if e == nil {
		return driver.ErrNotHeld
	}
	err := b.remove(ctx, e, h, g)
	switch {
	case err == nil && g.Token != 0:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended.Put(ending{g.Nonce, g.Token}, struct{}{})
		b.strike(e)
	case err == nil, errors.Is(err, driver.ErrNotHeld):
		b.forget(e)
	case g.Done != "" && errors.Is(err, rpctypes.ErrNoSpace):
		return b.removeAlone(ctx, e, h, g, err)
	default:
		if err = classify(err); !driver.IsNotApplied(err) {
			b.leaves(e)
		}
	}
	return err
}

// remove sends the request that deletes the key of e. It returns driver.ErrNotHeld if the key did not exist as it was
// granted, unless an earlier request of this release, which got no answer, has deleted it.
func (b *Backend) remove(ctx context.Context, e *entry, h hold, g driver.Grant) error {
	if g.Token == 0 {
		return b.delete(ctx, e.path)
	}
	then, otherwise := []clientv3.Op{clientv3.OpDelete(e.path)}, []clientv3.Op(nil)
	if g.Shared { // etcd evaluates this comparison before the deletion, so the condition is that no share other than g exists
		last := created(b.shares(g.Key), h.revision).WithPrefix()
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{last}, []clientv3.Op{clientv3.OpDelete(b.epochKey(g.Key))}, nil))
	}
	if g.Done != "" {
		then, otherwise = append(then, b.record(g)), []clientv3.Op{b.marks(g.Key)}
	}
	reply, err := b.commit(ctx, []clientv3.Cmp{created(e.path, h.revision)}, then, otherwise)
	switch {
	case err != nil || reply.Succeeded:
		return err
	case g.Done != "":
		if last, _ := b.marksOf(reply); last.Token == g.Token {
			return nil
		}
	case h.leaving: // the end of the session would also have deleted the key
		if err := b.beat(ctx, e.session); !errors.Is(err, errLeaseLost) {
			return err
		}
	}
	return driver.ErrNotHeld
}

// removeAlone deletes the key of e without recording the tick, because etcd has no space for the tick. A deletion needs
// no space. The request that failed with err may have been executed (see onSession), so the outcome of the release is
// unknown.
func (b *Backend) removeAlone(ctx context.Context, e *entry, h hold, g driver.Grant, err error) error {
	g.Done = ""
	if b.remove(ctx, e, h, g) != nil {
		return err
	}
	b.forget(e)
	return fmt.Errorf("etcdlock: the release of %q may have recorded no tick: %w", g.Key, err)
}
