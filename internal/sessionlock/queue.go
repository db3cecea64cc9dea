package sessionlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Await implements [driver.Awaiter]. It first makes one attempt, unless r.Waiting is set. If the attempt is refused,
// Await calls the function wait, and the context that wait returns replaces ctx. Await then waits until no other holding
// of this store conflicts with the request. Last, it waits in the server's queue, on a connection that holds no locks. If
// the wait is cancelled, Await closes that connection. If no connection is left for waiting, Await makes a second attempt
// instead.
func (s *Store[K]) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	if err := s.Ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	var held *driver.Held
	if !r.Waiting {
		g, err := s.attempt(ctx, r)
		if !errors.As(err, &held) {
			return g, s.Explain(ctx, "acquire", r.Key, err)
		}
	}
	ctx, r.Waiting = wait(held), true
	g, err := s.acquire(ctx, r, true, s.askOrWait, func(ctx context.Context, inTheWay *Holding[K]) error {
		select {
		case <-inTheWay.gone:
			return nil
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.refusal(inTheWay)
		}
	})
	return g, s.Explain(ctx, "acquire", r.Key, err)
}

func (s *Store[K]) askOrWait(ctx context.Context, h *Holding[K]) (driver.Grant, error) {
	if se := s.waiter(); se != nil {
		return s.queue(ctx, se, h)
	}
	once, cancel := context.WithTimeout(ctx, silence(h.TTL)) // a short limit, because the session also holds locks of other callers
	defer cancel()
	return s.ask(once, h)
}

// silence returns how long a waiter waits for an answer of the server: one TTL, but at least a second. A longer limit
// of the waiter's context does not change this.
func silence(ttl time.Duration) time.Duration { return max(ttl, time.Second) }

// waiter returns a new session for one waiter, or nil if the limit of waiting sessions or of all sessions is reached.
// The session is not in the list of sessions, so no other request uses it while it waits.
func (s *Store[K]) waiter() *Session[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mayWait() {
		return nil
	}
	se := s.newSession()
	s.waits = append(s.waits, se)
	return se
}

// recall ends the wait of one session, whose connection will be closed. The waiter then polls. The caller holds mu.
func (s *Store[K]) recall() {
	s.waits[0].end(ErrGone)
	s.waits = slices.Delete(s.waits, 0, 1)
}

// mayWait reports whether one more session may wait in the server's queue. The caller holds mu.
func (s *Store[K]) mayWait() bool {
	return len(s.waits) < s.Waiting && len(s.sessions)+len(s.waits) < s.Most
}

// queue waits on se for h's lock. If the lock is granted, queue adds se to the list of sessions. Otherwise it returns
// or closes se's connection.
func (s *Store[K]) queue(ctx context.Context, se *Session[K], h *Holding[K]) (g driver.Grant, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(se.ctx, cancel)()
	once, stop := context.WithTimeout(ctx, silence(h.TTL))
	if err = se.link.Connect(once); err == nil {
		err = se.settle(h, true)
	}
	stop()
	var token driver.Token
	if err == nil {
		token, err = se.link.Await(ctx, h)
	}
	s.mu.Lock()
	s.waits = slices.DeleteFunc(s.waits, func(other *Session[K]) bool { return other == se })
	if se.ctx.Err() != nil { // the session was recalled: if the server has just granted the lock, it ends with the connection
		se.Broken, err = ErrGone, &driver.Held{Reason: driver.Leased}
	}
	if err == nil {
		g = h.grantedWith(token)
		s.sessions = append(s.sessions, se)
	} else {
		s.drop(h)
	}
	s.mu.Unlock()
	se.Leave()
	return g, err
}
