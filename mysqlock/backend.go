package mysqlock

import (
	"database/sql"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Backend keeps locks as named locks of MySQL or MariaDB sessions. It is safe for concurrent use. It borrows
// connections from the caller's pool while it holds locks, and while its requests wait for locks. It returns the
// connections soon after the last release. It never closes the pool.
type Backend struct {
	requests
	db    *sql.DB
	opts  options
	sql   statements
	locks sessionlock.Store[driver.Key]

	longest  time.Duration // the longest wait on the server, with the time for its reply
	warnings []string      // problems of the database handle that do not prevent locking

	mu     sync.Mutex
	schema string // the schema, which is part of the locks' names; known after the first connection
	server string // the server whose cluster settings were checked last
}

// requests are the methods Acquire, Await, Renew and Release. Acquire refuses a name that this backend already holds
// without a request to the server, because the server would grant the lock to the same session a second time. Await waits
// in the server's queue, on a connection that holds no locks. Renew checks on each session that it still holds its locks.
// If the server has become read-only, all its grants are lost, because another server may now be the primary and grant
// the same names.
type requests = sessionlock.Requests

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// New makes a backend that keeps locks in the MySQL (8.0 or newer) or MariaDB (10.6 or newer) server of db. Use
// go-sql-driver/mysql. New does no I/O.
func New(db *sql.DB, opts ...Option) *Backend {
	b := &Backend{db: db, opts: options{Options: sessionlock.Options{Table: sqltable.Default}}}
	b.requests = &b.locks
	b.locks.Name, b.locks.Remedy = "mysqlock", b.remedy
	b.locks.KeyOf = func(key driver.Key) driver.Key { return key }
	b.locks.Waiting = 1
	b.locks.Link = func(base *sessionlock.Session[driver.Key]) sessionlock.Link[driver.Key] {
		return &session{Session: base, backend: b, described: map[driver.Key]description{}}
	}
	if db == nil {
		b.locks.Err = errNoPool
		return b
	}
	for _, opt := range opts {
		opt(&b.opts)
	}
	b.warnings, b.longest = sqlhandle.Warnings(db), longestWaitOn(db)
	b.locks.Configure(b.opts.Options, db.Stats().MaxOpenConnections)
	if b.locks.Err == nil {
		b.sql = load(b.locks.Table)
	}
	return b
}

// Capabilities implements [driver.Backend]. It describes what the locks of this backend promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "mysqlock", Token: driver.LinearizableToken, Sessions: true, Warnings: b.warnings, Invalid: b.locks.Err}
	if b.opts.NoToken {
		c.Token, c.Anonymous = driver.NoToken, true
	}
	return c
}
