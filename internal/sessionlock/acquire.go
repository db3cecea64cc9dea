package sessionlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Acquire implements [driver.Backend]. If this store already holds the lock, and r does not ask for another share of
// it, Acquire returns a refusal and sends no request. The server would grant the lock to the same session a second time.
func (s *Store[K]) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := s.Ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	g, err := s.attempt(ctx, r)
	return g, s.Explain(ctx, "acquire", r.Key, err)
}

func (s *Store[K]) attempt(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return s.acquire(ctx, r, false, s.ask, s.refused)
}

// acquire adds the request to the bookkeeping (see [Holding]), and calls the function ask to get the lock from the
// server. If another holding of this store conflicts with the request, acquire calls the function refused instead. If
// refused returns an error, acquire returns that error. If refused returns nil, the conflicting holding has ended, and
// acquire starts over. The parameter queues is true if the function ask may wait in the server's queue.
func (s *Store[K]) acquire(ctx context.Context, r driver.Request, queues bool,
	ask func(context.Context, *Holding[K]) (driver.Grant, error), refused func(context.Context, *Holding[K]) error,
) (driver.Grant, error) {
	if err := keepable(r); err != nil {
		return driver.Grant{}, err
	}
	for {
		h, isNew, inTheWay := s.reserve(r, queues)
		if inTheWay != nil {
			if err := refused(ctx, inTheWay); err != nil {
				return driver.Grant{}, err
			}
			continue
		}
		var g driver.Grant
		var err error
		if isNew {
			g, err = ask(ctx, h)
		} else {
			g, err = s.again(ctx, h, r)
		}
		switch {
		case err == nil:
			return g, nil
		case !errors.Is(err, ErrGone): // ErrGone: the session ended before the statement was sent, so retry
			return driver.Grant{}, err
		}
	}
}

// refused returns the error for a request that conflicts with h, or nil if h has ended. Some connections cannot be
// watched between statements, so they may have ended unnoticed. If h is on such a connection, the method first asks
// the server whether the session still holds the lock.
func (s *Store[K]) refused(ctx context.Context, h *Holding[K]) error {
	s.mu.Lock()
	refusal, noticed := s.refusal(h), !h.granted || h.session.watches
	s.mu.Unlock()
	if !noticed {
		if proven, err := s.proven(ctx, h); err == nil && !proven {
			return nil
		}
	}
	return refusal
}

// ask makes one attempt to acquire h's lock, on any session.
func (s *Store[K]) ask(ctx context.Context, h *Holding[K]) (driver.Grant, error) {
	se, err := s.anyTurn(ctx)
	if err != nil {
		s.forget(h)
		return driver.Grant{}, driver.NotApplied(err)
	}
	var g driver.Grant
	err = se.Run(ctx, h, func(ctx context.Context) (err error) {
		g, err = se.lock(ctx, h)
		return err
	})
	if err != nil {
		return driver.Grant{}, err
	}
	return g, nil
}

// lock makes one attempt to acquire h's lock on the session's connection. It may continue after the caller of Acquire
// has given up. If the lock is then granted, the grant stays in the bookkeeping, where a repeated request
// with the same nonce finds it.
func (se *Session[K]) lock(ctx context.Context, h *Holding[K]) (driver.Grant, error) {
	if err := se.settle(h, false); err != nil {
		return driver.Grant{}, err
	}
	token, err := se.link.Lock(ctx, h)
	switch {
	case err == nil:
		se.store.mu.Lock()
		defer se.store.mu.Unlock()
		return h.grantedWith(token), nil
	case se.Broken == nil:
		se.store.forget(h)
	case se.link.Over(err): // Finish has already dropped the session's holdings
		err = driver.NotApplied(ErrGone)
	}
	return driver.Grant{}, err
}

// The method again answers a repeated request. The request r has the same nonce as h. If h was granted, the method
// asks the server whether the session still holds the lock.
func (s *Store[K]) again(ctx context.Context, h *Holding[K], r driver.Request) (driver.Grant, error) {
	select {
	case <-h.asking:
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
	s.mu.Lock()
	h.grant.TTL, h.unwanted = r.TTL, false
	g, granted := h.grant, h.granted
	s.mu.Unlock()
	if !granted {
		return driver.Grant{}, ErrGone // h is no longer in the bookkeeping: acquire retries with a new holding
	}
	switch proven, err := s.proven(ctx, h); {
	case err != nil:
		return driver.Grant{}, err
	case !proven:
		return driver.Grant{}, ErrGone
	}
	return g, nil
}
