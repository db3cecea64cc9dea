// Package sessionlock is the common part of locks that live on database sessions. Such locks are held on connections
// borrowed from the caller's pool, and end with them.
//
// The package records which locks this process holds, serializes the use of each connection, and decides when a
// connection can no longer be trusted. The package of each kind of lock implements [Link], which talks to the server.
package sessionlock

import (
	"context"
	"errors"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Store is the state of one backend: its sessions and their locks. K identifies a lock on the server. Set the exported
// fields before the first use.
type Store[K comparable] struct {
	Link func(*Session[K]) Link[K] // makes the link of a new session

	// Together lets two requests of this process for the same lock be sent to the server at the same time.
	Together bool

	// Most is the largest number of connections. Up to Waiting of them may wait in the server's queue, one for each
	// waiter.
	Most, Waiting int

	// Number gets the token of a grant that was made without one. It is nil if each grant has its token at once.
	Number func(ctx context.Context, h *Holding[K], g driver.Grant) (driver.Grant, error)

	mu       sync.Mutex
	sessions []*Session[K]
	waits    int // sessions in the server's queue; they are not in sessions
	locks    map[K]map[driver.Nonce]*Holding[K]
	released memory
}

// Link is the connection of one session. Only the goroutine with the session's turn may call its methods, and must call
// Connect first.
type Link[K comparable] interface {
	// Connect opens a connection that can hold locks, unless there is one.
	Connect(ctx context.Context) error
	// Lock tries to acquire h's lock, and returns its token, or 0 if the token must be fetched by Number. After an
	// error the session does not hold the lock, or is broken.
	Lock(ctx context.Context, h *Holding[K]) (driver.Token, error)
	// Unlock releases h's lock. It returns driver.ErrNotHeld if the lock had ended before. The session is then broken
	// if it did not have the lock. If another error broke the session, the lock ends with the session.
	Unlock(ctx context.Context, h *Holding[K]) error
	// Prove checks that the session holds all these locks, and marks it as broken if it does not.
	Prove(ctx context.Context, list []*Holding[K]) error
	// Over reports whether err means that the connection had ended before the statement was sent.
	Over(err error) bool

	// Watches reports whether the end of the connection is noticed between turns.
	Watches() bool
	// Watch begins to watch for the end of the connection, because it holds a lock. Unwatch stops that, and returns
	// when nothing else uses the connection.
	Watch()
	Unwatch()
	// Ended reports whether the connection is known to have ended.
	Ended() bool

	// GiveBack returns the connection, which holds nothing, to its pool. Destroy closes it instead. Nothing is called
	// after them. There may be no connection.
	GiveBack()
	Destroy()
}

var (
	// ErrGone is the cause of a session that ended for an unknown reason.
	ErrGone = errors.New("the connection has ended")
	// ErrMissing is the cause of a session that does not hold a lock that it should hold.
	ErrMissing = errors.New("the server does not hold a lock that this session acquired")

	errEnding  = errors.New("the connection failed during the release; the lock ends with the connection")
	errNotMine = errors.New("the grant is unknown to this backend")
)

// Session returns the context of the session that holds g.
func (s *Store[K]) Session(id K, g driver.Grant) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.find(id, g); h != nil {
		return h.session.ctx
	}
	return ended
}

// LinkOf returns the link of h's session.
func (s *Store[K]) LinkOf(h *Holding[K]) Link[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.session.link
}

// ended is the session of an unknown grant.
var ended = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNotMine)
	return ctx
}()

// Sessions returns the links of the sessions that do not wait in the server's queue.
func (s *Store[K]) Sessions() []Link[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	links := make([]Link[K], len(s.sessions))
	for i, se := range s.sessions {
		links[i] = se.link
	}
	return links
}

// Idle reports whether nothing is held, requested or waited for.
func (s *Store[K]) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions) == 0 && len(s.locks) == 0 && s.waits == 0
}
