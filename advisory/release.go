package advisory

import (
	"context"

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
	id := b.keyOf(g.Key)
	if err := b.asked(ctx, id, g.Nonce); err != nil {
		return err
	}
	b.mu.Lock()
	h := b.find(id, g)
	if h == nil || h.shared != b.shared {
		defer b.mu.Unlock()
		return b.releasedBefore(g)
	}
	se := h.session
	b.mu.Unlock()
	if err := se.take(ctx); err != nil {
		if err == errGone {
			return b.remembered(g)
		}
		return err // unknown: an unlock of it may be under way
	}
	return se.run(ctx, h, func(ctx context.Context) error { return se.unlock(ctx, h, g) })
}

// asked waits until the server has answered the request of this nonce, if one is under way.
func (b *Backend) asked(ctx context.Context, id int64, nonce driver.Nonce) error {
	b.mu.Lock()
	var asking <-chan struct{}
	if l := b.locks[id]; l != nil && l.holdings[nonce] != nil {
		asking = l.holdings[nonce].asking
	}
	b.mu.Unlock()
	if asking == nil {
		return nil
	}
	select {
	case <-asking:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unlock is the statement. The server's answer is checked: one that did not have the lock has told
// us that we do not know the state of this session.
func (se *session) unlock(ctx context.Context, h *holding, g driver.Grant) error {
	s := se.store
	s.mu.Lock()
	if !h.granted {
		defer s.mu.Unlock()
		return s.releasedBefore(g)
	}
	s.mu.Unlock()
	var at int64
	var unlocked bool
	err := se.query(ctx, unlockVerb(h.shared), []any{h.id, int64(se.pid)}, &at, &unlocked)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		if over(err) { // before it came to the unlock
			return driver.ErrNotHeld
		}
		h.releasing = se.broken != nil
		return err
	case at != int64(se.pid):
		se.broken = se.moved(at)
		return driver.ErrNotHeld
	case !unlocked:
		se.broken = errMissing
		return driver.ErrNotHeld
	}
	s.released.add(h.grant, nil)
	s.drop(h)
	return nil
}

// releasedBefore says what became of a grant that is not held here. The caller holds mu.
func (s *store) releasedBefore(g driver.Grant) error {
	if err, known := s.released.of(g); known {
		return err
	}
	return driver.ErrNotHeld
}

func (s *store) remembered(g driver.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.releasedBefore(g)
}
