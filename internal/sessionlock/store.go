// Package sessionlock is the common part of packages advisory and mysqlock. Their locks belong to database sessions.
// Such a lock is held on a connection that was borrowed from the caller's pool, and ends when the connection ends.
//
// The package records which locks this process holds, serializes the use of each connection, and decides
// when a connection can no longer be trusted. Packages advisory and mysqlock implement [Link],
// which sends the statements to the server.
package sessionlock

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Store is the state of one backend: its sessions and their locks. K is the type that identifies a lock
// of the server. Set Name, Link, KeyOf and Remedy, and call Configure before the first use.
type Store[K comparable] struct {
	Name   string                    // the name of the backend's package, for errors
	Link   func(*Session[K]) Link[K] // makes the Link of a new session
	KeyOf  func(driver.Key) K
	Remedy func(error) error // marks errors that a retry cannot fix as permanent, and adds what to do
	Err    error             // the options or the handle are invalid, so every call fails with this error
	Table  sqltable.Table

	// Most is the largest number of connections. Waiting is how many of these connections may wait in the server's
	// queue. Each waiter uses one connection. If Most is 1, a waiter may use the only connection until another request
	// needs it.
	Most, Waiting int

	// Linger is how long a session that is no longer needed keeps its connection for the next request.
	Linger time.Duration

	mu       sync.Mutex
	sessions []*Session[K]
	idle     []*Session[K] // sessions that are no longer needed and wait for Linger to end; they are not in sessions
	waits    []*Session[K] // sessions that wait in the server's queue; they are not in sessions
	locks    map[K]map[driver.Nonce]*Holding[K]
	released memory
}

// Requests are the methods of a [Store] that a backend has as well.
type Requests interface {
	Acquire(ctx context.Context, r driver.Request) (driver.Grant, error)
	Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error)
	Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error)
	Release(ctx context.Context, g driver.Grant) error
}

// Link is the connection of one session. Only the goroutine that has reserved the session may call its methods,
// and it must call Connect first.
type Link[K comparable] interface {
	// Connect borrows a connection that can hold locks, unless the session already has one.
	Connect(ctx context.Context) error
	// Lock tries to acquire h's lock, and returns its token, or 0 if the lock has none.
	// After an error, the session either does not hold the lock or is marked as broken.
	Lock(ctx context.Context, h *Holding[K]) (driver.Token, error)
	// Await waits in the server's queue until the session holds h's lock, and returns its token as Lock does. Await returns
	// an error when ctx ends. After any error, the session either does not hold the lock or is marked as broken.
	Await(ctx context.Context, h *Holding[K]) (driver.Token, error)
	// Unlock releases h's lock, and reports whether the session had it. After an error, the session may be marked as
	// broken. The lock then ends with the session.
	Unlock(ctx context.Context, h *Holding[K]) (unlocked bool, err error)
	// Prove checks that the session holds all its locks, which are in list, and marks the session as broken if it does not.
	Prove(ctx context.Context, list []*Holding[K]) error
	// Over reports whether err means that the statement was never sent, because the connection had already ended.
	Over(err error) bool

	// Watches reports whether Watch can notice that the connection ends. On such a connection, the driver also ends each
	// call soon after its context ends.
	Watches() bool
	// Watch is called when a goroutine leaves a session that holds locks. Until Unwatch is called, the link notices
	// if the connection ends. Unwatch returns when no other goroutine uses the connection.
	Watch()
	Unwatch()
	// Ended reports whether the connection is known to have ended.
	Ended() bool

	// GiveBack returns the connection, which holds no locks, to its pool. Destroy closes the connection instead. The
	// store calls one of these two methods last. Both must also work if Connect was never called.
	GiveBack()
	Destroy()
}

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

// Idle reports whether the store holds no lock, has no running request and has no session.
func (s *Store[K]) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions) == 0 && len(s.idle) == 0 && len(s.locks) == 0 && len(s.waits) == 0
}
