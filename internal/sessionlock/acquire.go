package sessionlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Acquire asks the server once for what nobody here holds. What is held here is refused without asking.
func (s *Store[K]) Acquire(ctx context.Context, id K, shared bool, r driver.Request) (driver.Grant, error) {
	return s.acquire(ctx, id, shared, r, s.ask, s.refused)
}

// acquire asks for what is not known here by ask; a holding that is in the way refuses it, or is over.
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
		case !errors.Is(err, ErrGone): // else the session ended before it was asked
			return driver.Grant{}, err
		}
	}
}

// refused answers for the server what is held here, unless that is over: where nobody looks at the
// connection between statements, it may have ended without our knowing.
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

// ask makes one try.
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

// lock makes one try on the connection. It may go on when nobody waits for its outcome any more: what
// it is granted stays in the bookkeeping, for whoever asks by its nonce.
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
	case se.link.Over(err): // everything on it is forgotten with the session
		err = driver.NotApplied(ErrGone)
	}
	return driver.Grant{}, err
}

// again answers a request that was sent before. A grant must be proven before it is trusted anew.
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
		return driver.Grant{}, ErrGone // it is forgotten: ask anew
	}
	switch proven, err := s.Proven(ctx, h); {
	case err != nil:
		return driver.Grant{}, err
	case !proven:
		return driver.Grant{}, ErrGone
	}
	return g, nil
}
