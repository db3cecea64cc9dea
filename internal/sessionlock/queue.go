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
	// Await waits until the session holds h's lock, and returns its token as Lock does. It gives up when ctx ends.
	// After an error the session does not hold the lock, or is broken.
	Await(ctx context.Context, h *Holding[K]) (driver.Token, error)
}

// Await first makes one request, unless r.Waiting is set. If that is refused, it waits until no holding of this store
// conflicts, and then in the server's queue, on a connection that holds nothing else. If no more such connections are
// allowed, it makes a second request instead. The links must be Queuers. Await returns the context that bounded it
// last: ctx, or what wait returned.
func (s *Store[K]) Await(ctx context.Context, id K, shared bool, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, context.Context, error) {
	var held *driver.Held
	if !r.Waiting {
		g, err := s.Acquire(ctx, id, shared, r)
		if !errors.As(err, &held) {
			return g, ctx, err
		}
	}
	ctx, r.Waiting = wait(held), true
	g, err := s.acquire(ctx, id, shared, r, s.askOrWait, func(ctx context.Context, inTheWay *Holding[K]) error {
		select {
		case <-inTheWay.gone:
			return nil
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			return inTheWay.refusal()
		}
	})
	return g, ctx, err
}

func (s *Store[K]) askOrWait(ctx context.Context, h *Holding[K]) (driver.Grant, error) {
	if se := s.waiter(); se != nil {
		return s.queue(ctx, se, h)
	}
	once, cancel := context.WithTimeout(ctx, silence(h.TTL)) // the session that is used also holds locks of other callers
	defer cancel()
	return s.ask(once, h)
}

// silence is how long a waiter trusts a server that does not answer, even if its ctx allows more.
func silence(ttl time.Duration) time.Duration { return max(ttl, time.Second) }

// waiter returns a new session for one waiter, or nil if no more are allowed. It joins the other sessions only when it
// has been granted a lock, so that no other request uses it before.
func (s *Store[K]) waiter() *Session[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits >= s.Waiting || len(s.sessions)+s.waits >= s.Most {
		return nil
	}
	s.waits++
	return s.newSession()
}

// queue waits on se. Then it returns se's connection, or adds se to the other sessions if it was granted the lock.
func (s *Store[K]) queue(ctx context.Context, se *Session[K], h *Holding[K]) (g driver.Grant, err error) {
	once, cancel := context.WithTimeout(ctx, silence(h.TTL))
	if err = se.link.Connect(once); err == nil {
		err = se.settle(h)
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
