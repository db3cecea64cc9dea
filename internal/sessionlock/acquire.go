package sessionlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Acquire makes one request to the server. It refuses a lock that this store already holds without a request.
func (s *Store[K]) Acquire(ctx context.Context, id K, shared bool, r driver.Request) (driver.Grant, error) {
	return s.acquire(ctx, id, shared, r, s.ask, s.refused)
}

// acquire gets a lock by calling ask. If a holding of this store conflicts, refused either returns the refusal, or
// returns nil once that holding has ended.
func (s *Store[K]) acquire(ctx context.Context, id K, shared bool, r driver.Request,
	ask func(context.Context, *Holding[K]) (driver.Grant, error), refused func(context.Context, *Holding[K]) error,
) (driver.Grant, error) {
	for {
		h, isNew, inTheWay := s.reserve(id, shared, r)
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
		if err == nil && g.Token == 0 && s.Number != nil {
			once, cancel := context.WithTimeout(ctx, silence(r.TTL))
			g, err = s.Number(once, h, g)
			cancel()
		}
		switch {
		case err == nil:
			return g, nil
		case !errors.Is(err, ErrGone): // otherwise the session ended before the statement was sent: retry
			return driver.Grant{}, err
		}
	}
}

// refused returns the refusal because of h. It returns nil if h has ended. A connection that is not watched between
// statements may have ended unnoticed, so refused then checks with the server.
func (s *Store[K]) refused(ctx context.Context, h *Holding[K]) error {
	s.mu.Lock()
	refusal, noticed := h.refusal(), !h.granted || h.session.watches
	s.mu.Unlock()
	if !noticed {
		if proven, err := s.Proven(ctx, h); err == nil && !proven {
			return nil
		}
	}
	return refusal
}

// ask makes one attempt on any session.
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

// lock makes one attempt on the connection. It may continue after its caller has given up. A grant then stays in the
// bookkeeping, where a request with the same nonce finds it.
func (se *Session[K]) lock(ctx context.Context, h *Holding[K]) (driver.Grant, error) {
	if err := se.settle(h); err != nil {
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
	case se.link.Over(err): // the session's end has already dropped its holdings
		err = driver.NotApplied(ErrGone)
	}
	return driver.Grant{}, err
}

// again answers a repeated request. The server must confirm a grant before it is trusted again.
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
		return driver.Grant{}, ErrGone // the holding was dropped: acquire retries with a new one
	}
	switch proven, err := s.Proven(ctx, h); {
	case err != nil:
		return driver.Grant{}, err
	case !proven:
		return driver.Grant{}, ErrGone
	}
	return g, nil
}
