package zklock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Release deletes the node of g, if it is one that this backend was granted: it was created for g's
// nonce, by the transaction that is g's token. What is not answered goes on in the background.
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
	case e == nil || e.key != g.Key || e.shared != b.shared || g.Token != 0 && !e.is(g):
		return driver.ErrNotHeld
	}
	removal := e.remove()
	select {
	case <-removal.done:
		return removal.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// is says whether e is what was granted as g.
func (e *entry) is(g driver.Grant) bool {
	return e.stands() && e.key == g.Key && e.nonce == g.Nonce && e.token == g.Token
}

// stands says whether it is known that e has a node.
func (e *entry) stands() bool {
	select {
	case <-e.created:
		return e.path != ""
	default:
		return false
	}
}

// held is the entry of g; nil if it is not one that is held here.
func (b *Backend) held(g driver.Grant) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[g.Nonce]
	if e == nil || !e.granted || e.shared != b.shared || !e.is(g) {
		return nil
	}
	return e
}

// over is the context of what does not live.
var over = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNotMine)
	return ctx
}()

// Session returns a context that ends when the session that g lives on has ended, or is not proven to
// live for so long that it is trusted no more. What ends g alone, an operator's force, shows with the
// next renewal.
func (b *Backend) Session(g driver.Grant) context.Context {
	if e := b.held(g); e != nil {
		return e.session.ctx
	}
	return over
}
