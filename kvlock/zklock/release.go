package zklock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Release deletes the node of g, and records the tick of g in the same transaction. It returns ErrNotHeld if this
// backend has no node for g's nonce, or if the node has another token than g. If the
// servers do not answer, the deletion continues in the background.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := oneline.Join(b.err, ctx.Err()); err != nil {
		return driver.NotApplied(err)
	}
	b.mu.Lock()
	_, before := b.released.get(ended{g.Nonce, g.Token})
	e := b.entries[g.Nonce]
	b.mu.Unlock()
	switch {
	case before:
		return nil
	case e == nil || e.key != g.Key || g.Token != 0 && !e.is(g):
		return driver.ErrNotHeld
	}
	done := g.Done
	if e.shared { // several readers hold the lock, so they keep no ticks
		done = ""
	}
	removal := e.remove(done)
	select {
	case <-removal.done:
		return removal.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// is reports whether e is the entry of the grant g.
func (e *entry) is(g driver.Grant) bool {
	return e.stands() && e.key == g.Key && e.nonce == g.Nonce && e.token == g.Token
}

// stands reports whether the node of e is known to have been created.
func (e *entry) stands() bool {
	select {
	case <-e.created:
		return e.path != ""
	default:
		return false
	}
}

// held returns the entry of g, or nil if this backend does not hold g.
func (b *Backend) held(g driver.Grant) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[g.Nonce]
	if e == nil || !e.granted || !e.is(g) {
		return nil
	}
	return e
}
