// Package sessionlock is what locks have in common that live on sessions of a database: they are held
// on connections that are borrowed from the caller's pool, and end with them.
//
// It keeps the books of who here holds what, gives the turns of the connections, and says when one can
// be trusted no more. The package of each kind of lock brings a [Link], which speaks to the server.
package sessionlock

import (
	"context"
	"errors"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Store is all that one backend knows of its sessions and of what lives on them. K is what the server
// tells two locks apart by. The exported fields are set before the first use.
type Store[K comparable] struct {
	Link func(*Session[K]) Link[K] // makes that of a new session

	// Together says that the server is asked although somebody here is asking for the same lock.
	Together bool

	// Most is how many connections there are at most. Waiting may take so many of them, for those who
	// wait in the server's queue, each on a connection of his own.
	Most, Waiting int

	// Number gets the token of a grant that was made without one; nil if there are none such.
	Number func(ctx context.Context, h *Holding[K], g driver.Grant) (driver.Grant, error)

	mu       sync.Mutex
	sessions []*Session[K]
	waits    int // sessions in the server's queue, which are not among the others
	locks    map[K]map[driver.Nonce]*Holding[K]
	released memory
}

// Link is the connection of one session. Its methods are for whoever has the session's turn, and find
// or make a connection that works by Connect first.
type Link[K comparable] interface {
	// Connect makes sure that there is a connection on which locks can live.
	Connect(ctx context.Context) error
	// Lock tries to take the lock of h, and returns its token if that came with it. After an error the
	// session does not hold it, or is broken.
	Lock(ctx context.Context, h *Holding[K]) (driver.Token, error)
	// Unlock lets the lock of h go. driver.ErrNotHeld says that it had ended before; a session that did
	// not have it is broken. After another error that broke the session it ends with that.
	Unlock(ctx context.Context, h *Holding[K]) error
	// Prove asks the server whether the session has all of these locks, and breaks it if not.
	Prove(ctx context.Context, list []*Holding[K]) error
	// Over recognises the error of a statement before which the connection had ended.
	Over(err error) bool

	// Watches reports whether the end of the connection is noticed between turns.
	Watches() bool
	// Watch begins to look for it, because something lives on the connection; Unwatch has the
	// connection to itself when it returns.
	Watch()
	Unwatch()
	// Ended reports whether it is known to have ended.
	Ended() bool

	// GiveBack returns the connection, which holds nothing, to its pool; Destroy closes it instead. They
	// are the last, and there may be no connection.
	GiveBack()
	Destroy()
}

var (
	// ErrGone is the cause of a session that has ended for a reason that is not known.
	ErrGone = errors.New("the connection is gone")
	// ErrMissing is that of one that is not in the state that we think.
	ErrMissing = errors.New("the server does not hold a lock that this session took")

	errEnding  = errors.New("the connection broke while the lock was released, which ends with it")
	errNotMine = errors.New("the grant is not known here")
)

// Session is the context of the session that g lives on.
func (s *Store[K]) Session(id K, g driver.Grant) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.find(id, g); h != nil {
		return h.session.ctx
	}
	return ended
}

// LinkOf is the link of the session that h lives on.
func (s *Store[K]) LinkOf(h *Holding[K]) Link[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.session.link
}

// ended is the session of a grant that is not known.
var ended = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNotMine)
	return ctx
}()

// Sessions are the links of those that are not in the server's queue.
func (s *Store[K]) Sessions() []Link[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	links := make([]Link[K], len(s.sessions))
	for i, se := range s.sessions {
		links[i] = se.link
	}
	return links
}

// Idle reports whether nothing is held, asked for or waited for.
func (s *Store[K]) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions) == 0 && len(s.locks) == 0 && s.waits == 0
}
