package mysqlock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Release implements [driver.Backend]. An unlock that is under way when ctx ends goes on for a moment;
// a connection that does not say what became of it is closed, and the lock ends with it.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return explain(ctx, b.table, "release", g.Key, b.release(ctx, g))
}

func (b *Backend) release(ctx context.Context, g driver.Grant) error {
	if err := b.answered(ctx, g.Nonce); err != nil {
		return err
	}
	b.mu.Lock()
	h := b.find(g)
	if h == nil {
		defer b.mu.Unlock()
		return b.releasedBefore(g)
	}
	se := h.session
	b.mu.Unlock()
	err := se.take(ctx)
	if err == nil {
		err = se.run(ctx, h, func(ctx context.Context) error { return se.unlock(ctx, h, g) })
	}
	if errors.Is(err, errGone) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.releasedBefore(g)
	}
	return err // ctx's is unknown: an unlock of it may be under way
}

// answered waits until the server has answered the request of this nonce, if one is under way.
func (b *Backend) answered(ctx context.Context, nonce driver.Nonce) error {
	b.mu.Lock()
	h := b.asked[nonce]
	b.mu.Unlock()
	if h == nil {
		return nil
	}
	select {
	case <-h.asking:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unlock is the statement. The server's answer is checked: one that did not have the lock has told
// us that we do not know the state of this session.
func (se *session) unlock(ctx context.Context, h *holding, g driver.Grant) error {
	b := se.backend
	b.mu.Lock()
	granted := h.granted
	if !granted {
		defer b.mu.Unlock()
		return b.releasedBefore(g)
	}
	b.mu.Unlock()
	var released sql.NullInt64
	err := se.query(ctx, "unlock", []any{h.lock}, &released)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err != nil && over(err):
		return driver.ErrNotHeld // it had ended before
	case err != nil: // even an answer does not say whether it was let go
		se.broken, h.releasing = err, true
		return err
	case released.Int64 != 1:
		se.broken = errMissing
		return driver.ErrNotHeld
	}
	b.released.add(h.grant, nil)
	b.drop(h)
	return nil
}

// releasedBefore says what became of a grant that is not held here. The caller holds mu.
func (b *Backend) releasedBefore(g driver.Grant) error {
	if err, known := b.released.of(g); known {
		return err
	}
	return driver.ErrNotHeld
}
