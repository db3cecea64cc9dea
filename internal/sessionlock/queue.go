package sessionlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Queuer is a [Link] to a server that keeps waiters in a queue.
type Queuer[K comparable] interface {
	Link[K]
	// Await waits until the session holds h's lock, and returns its token as Lock does. Await returns an error
	// when ctx ends. After any error, the session either does not hold the lock or is marked as broken.
	Await(ctx context.Context, h *Holding[K]) (driver.Token, error)
}

// Await first makes one attempt, unless r.Waiting is set. If the attempt is refused, Await calls the function wait,
// and the context that wait returns replaces ctx. Await then waits until no other holding of this store conflicts with
// the request. Last, it waits in the server's queue, on a connection that holds no locks. If no connection is left for
// waiting, Await makes a second attempt instead. Each [Link] of s must be a [Queuer]. Await also returns the context
// that limited its last step: ctx, or the context that wait returned.
func (s *Store[K]) Await(ctx context.Context, id K, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, context.Context, error) {
	var held *driver.Held
	if !r.Waiting {
		g, err := s.Acquire(ctx, id, r)
		if !errors.As(err, &held) {
			return g, ctx, err
		}
	}
	ctx, r.Waiting = wait(held), true
	g, err := s.acquire(ctx, id, r, true, s.askOrWait, func(ctx context.Context, inTheWay *Holding[K]) error {
		select {
		case <-inTheWay.gone:
			return nil
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.refusal(inTheWay)
		}
	})
	return g, ctx, err
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
	s.waits++
	return s.newSession()
}

// mayWait reports whether one more session may wait in the server's queue. The caller holds mu.
func (s *Store[K]) mayWait() bool {
	return s.waits < s.Waiting && len(s.sessions)+s.waits < s.Most
}

// queue waits on se for h's lock. If the lock is granted, queue adds se to the list of sessions. Otherwise it returns
// or closes se's connection.
func (s *Store[K]) queue(ctx context.Context, se *Session[K], h *Holding[K]) (g driver.Grant, err error) {
	once, cancel := context.WithTimeout(ctx, silence(h.TTL))
	if err = se.link.Connect(once); err == nil {
		err = se.settle(h, true)
	}
	cancel()
	var token driver.Token
	if err == nil {
		token, err = se.link.(Queuer[K]).Await(ctx, h)
	}
	s.mu.Lock()
	s.waits--
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
