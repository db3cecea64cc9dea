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
	// Await waits until it has the lock of h, and returns its token as Lock does, or until ctx ends. After
	// an error the session does not hold it, or is broken.
	Await(ctx context.Context, h *Holding[K]) (driver.Token, error)
}

// Await asks once, unless r.Waiting is set. When that is refused it waits: for what is held here, and in the
// server's queue, on a connection that holds nothing else. When there may be no more of those it asks once
// more. The links must be Queuers. The context that it returns is ctx, or that of the wait once it has begun.
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
	once, cancel := context.WithTimeout(ctx, silence(h.TTL)) // others live on the session that is asked
	defer cancel()
	return s.ask(once, h)
}

// silence is how long a server may say nothing to who waits, whatever time he has.
func silence(ttl time.Duration) time.Duration { return max(ttl, time.Second) }

// waiter is a session for one who waits, nil if there may be no more. It is not among the others before
// it is granted something: nobody may use it meanwhile.
func (s *Store[K]) waiter() *Session[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits >= s.Waiting || len(s.sessions)+s.waits >= s.Most {
		return nil
	}
	s.waits++
	return s.newSession()
}

// queue waits on se, and gives it back, or gives it to the others with what it was granted.
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
