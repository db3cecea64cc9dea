package sessionlock

import (
	"cmp"
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Release implements [driver.Backend]. If ctx ends while the unlock statement runs, the statement may continue for a short
// time. If the server does not answer it in that time, the connection is closed, which releases the lock.
func (s *Store[K]) Release(ctx context.Context, g driver.Grant) error {
	if err := s.Ready(ctx); err != nil {
		return err
	}
	return s.Explain(ctx, "release", g.Key, s.release(ctx, s.KeyOf(g.Key), g))
}

func (s *Store[K]) release(ctx context.Context, id K, g driver.Grant) error {
	if err := s.answered(ctx, id, g.Nonce); err != nil {
		return err
	}
	s.mu.Lock()
	h := s.find(id, g)
	if h == nil {
		defer s.mu.Unlock()
		return s.released.of(g)
	}
	h.unwanted = true
	se := h.session
	s.mu.Unlock()
	err := se.Take(ctx)
	if err == nil {
		err = se.Run(ctx, h, func(ctx context.Context) error { return se.unlock(ctx, h, g) })
	}
	if errors.Is(err, ErrGone) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.released.of(g)
	}
	return err // if err is ctx's error, the outcome is unknown, because an unlock may still be running
}

// During calls work while this store holds the lock of key with this token. No other goroutine can use the session's
// connection while work runs, so the lock is neither released nor granted again. During returns [driver.ErrNotHeld] if
// this store does not hold the lock with this token. The function work gets the session's link, but must not send a
// statement on the session's connection.
func (s *Store[K]) During(ctx context.Context, key driver.Key, token driver.Token, work func(context.Context, Link[K]) error) error {
	s.mu.Lock()
	var held *Holding[K]
	for _, h := range s.locks[s.KeyOf(key)] {
		if h.granted && h.Key == key && h.grant.Token == token {
			held = h
		}
	}
	s.mu.Unlock()
	if held == nil {
		return driver.ErrNotHeld
	}
	se := held.session
	err := se.Take(ctx)
	if err == nil {
		err = se.Run(ctx, held, func(ctx context.Context) error {
			if !se.Has(func(h *Holding[K]) bool { return h == held && h.granted }) {
				return driver.ErrNotHeld
			}
			return work(ctx, se.link)
		})
	}
	if errors.Is(err, ErrGone) {
		return driver.ErrNotHeld
	}
	return err
}

// The method "answered" looks for a running acquire request with this nonce. If it finds one, it waits until the
// server has answered that request.
func (s *Store[K]) answered(ctx context.Context, id K, nonce driver.Nonce) error {
	s.mu.Lock()
	h := s.locks[id][nonce]
	s.mu.Unlock()
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

func (se *Session[K]) unlock(ctx context.Context, h *Holding[K], g driver.Grant) error {
	s := se.store
	s.mu.Lock()
	if !h.granted {
		defer s.mu.Unlock()
		return s.released.of(g)
	}
	s.mu.Unlock()
	unlocked, err := se.link.Unlock(ctx, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && se.link.Over(err): // the session had ended before the unlock
		return driver.ErrNotHeld
	case err != nil:
		h.releasing = se.Broken != nil
		return err
	case !unlocked:
		se.Broken = cmp.Or(se.Broken, ErrMissing)
		return driver.ErrNotHeld
	}
	s.released.add(h.grant, nil)
	s.drop(h)
	return nil
}
