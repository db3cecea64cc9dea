package mysqlock

import (
	"context"
	"database/sql"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Backend keeps locks as named locks of MySQL or MariaDB sessions. It is safe for concurrent use. It borrows
// connections from the caller's pool while it holds locks, and while its requests wait for locks. It returns the
// connections soon after the last release. It never closes the pool.
type Backend struct {
	db    *sql.DB
	table sqltable.Table
	opts  options
	sql   statements
	err   error // the options or the handle are invalid, so every call fails with this error

	locks sessionlock.Store[driver.Key]

	warnings []string // problems of the database handle that do not prevent locking

	mu     sync.Mutex
	schema string // the schema, which is part of the locks' names; known after the first connection
	server string // the server whose cluster settings were checked last
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// New makes a backend that keeps locks in the MySQL (8.0 or newer) or MariaDB (10.6 or newer) server of db. Use
// go-sql-driver/mysql. New does no I/O.
func New(db *sql.DB, opts ...Option) *Backend {
	if db == nil {
		return &Backend{err: errNoPool}
	}
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	most := db.Stats().MaxOpenConnections
	table, err := o.check(most)
	b := &Backend{db: db, table: table, opts: o, err: err, warnings: sqlhandle.Warnings(db)}
	b.locks.Most, b.locks.Waiting = o.sessions, o.sessions/2
	b.locks.Linger = sessionlock.Linger(most)
	b.locks.Link = func(base *sessionlock.Session[driver.Key]) sessionlock.Link[driver.Key] {
		return &session{Session: base, backend: b, described: map[driver.Key]description{}}
	}
	if err == nil {
		b.sql = load(table)
	}
	return b
}

// Capabilities implements [driver.Backend]. It describes what the locks of this backend promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "mysqlock", Token: driver.LinearizableToken, Sessions: true, Warnings: b.warnings, Invalid: b.err}
	if b.opts.noToken {
		c.Token, c.Anonymous = driver.NoToken, true
	}
	return c
}

// Acquire implements [driver.Backend]. If this backend already holds the name, Acquire returns a refusal without
// a request to the server, because the server would grant the lock to the same session a second time.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, r, func() (driver.Grant, context.Context, error) {
		g, err := b.locks.Acquire(ctx, r.Key, r)
		return g, ctx, err
	})
}

// Await implements [driver.Awaiter]. The request waits in the server's queue, on a connection that holds no locks. If
// the wait is cancelled, Await closes that connection. If the backend has reached its limit of connections, Await
// makes one attempt without waiting.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return b.acquire(ctx, r, func() (driver.Grant, context.Context, error) { return b.locks.Await(ctx, r.Key, r, wait) })
}

// acquire checks the request r, and calls the function by, which sends the statements. The function by also returns
// the context that limited its last statement. If by fails, acquire converts the error to one that package driver
// defines.
func (b *Backend) acquire(ctx context.Context, r driver.Request, by func() (driver.Grant, context.Context, error)) (driver.Grant, error) {
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	err := sessionlock.Keepable(r)
	var g driver.Grant
	if err == nil {
		g, ctx, err = by()
	}
	return g, explain(ctx, b.table, "acquire", r.Key, err)
}

// Renew implements [driver.Backend]. It sends one statement on each session, on all sessions in parallel. The
// statement checks that the session still holds its locks. If the server has become read-only, all its grants are
// lost, because another server may now be the primary and grant the same names.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	itself := func(key driver.Key) driver.Key { return key }
	outcomes, err := b.locks.Renew(ctx, itself, grants)
	return outcomes, explain(ctx, b.table, "renew", driver.Key{}, err)
}

// Release implements [driver.Backend]. If ctx ends while the unlock statement runs, the statement may continue
// for a short time. If the server does not answer it in that time, the connection is closed, which releases the lock.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return explain(ctx, b.table, "release", g.Key, b.locks.Release(ctx, g.Key, g))
}

func (b *Backend) ready(ctx context.Context) error { return sessionlock.Ready(ctx, b.err) }
