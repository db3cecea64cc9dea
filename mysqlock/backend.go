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

// Backend keeps locks as named locks of MySQL or MariaDB sessions. It is safe for concurrent use. It
// borrows connections from the caller's pool while it holds locks or waits for one, and gives them
// back with the last lock; the pool stays the caller's to close.
type Backend struct {
	db    *sql.DB
	table sqltable.Table
	opts  options
	sql   statements
	err   error // why it cannot work

	locks sessionlock.Store[driver.Key]

	warnings []string // of the handle

	mu     sync.Mutex
	schema string // of the locks; known with the first connection
	server string // whose cluster was looked at last
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Session  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// New keeps locks in the MySQL (8.0 or newer) or MariaDB (10.6 or newer) server that db reaches with
// go-sql-driver/mysql. It does no I/O.
func New(db *sql.DB, opts ...Option) *Backend {
	if db == nil {
		return &Backend{err: errNoPool}
	}
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := o.check(db.Stats().MaxOpenConnections)
	b := &Backend{db: db, table: table, opts: o, err: err, warnings: sqlhandle.Warnings(db)}
	b.locks.Most, b.locks.Waiting, b.locks.Together = o.sessions, o.sessions/2, true
	b.locks.Link = func(base *sessionlock.Session[driver.Key]) sessionlock.Link[driver.Key] {
		return &session{Session: base, backend: b}
	}
	b.locks.Number = b.numbered
	if err == nil {
		b.sql = load(table)
	}
	return b
}

// Capabilities says what such locks promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "mysqlock", Token: driver.LinearizableToken, Sessions: true, Warnings: b.warnings, Invalid: b.err}
	if b.opts.noToken {
		c.Token, c.Anonymous = driver.NoToken, true
	}
	return c
}

// Session implements [driver.Session].
func (b *Backend) Session(g driver.Grant) context.Context { return b.locks.Session(g.Key, g) }

// Acquire implements [driver.Backend]. A name that is held through this backend is refused without
// asking the server, which would grant it again to the session that has it.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, r, func() (driver.Grant, context.Context, error) {
		g, err := b.locks.Acquire(ctx, r.Key, false, r)
		return g, ctx, err
	})
}

// Await implements [driver.Awaiter]: it waits on a connection of its own, which holds nothing else and is
// closed if the wait is cut short. When there may be no more connections it asks once.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return b.acquire(ctx, r, func() (driver.Grant, context.Context, error) { return b.locks.Await(ctx, r.Key, false, r, wait) })
}

// acquire returns what by does, whose context is the one that bounded it last.
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

// Renew implements [driver.Backend]: it proves that the sessions hold what they hold, with one
// statement for each session, all at the same time. A server that has become read-only loses all its
// grants: the primary is another, and grants the same names.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	itself := func(key driver.Key) driver.Key { return key }
	outcomes, err := b.locks.Renew(ctx, itself, false, grants)
	return outcomes, explain(ctx, b.table, "renew", driver.Key{}, err)
}

// Release implements [driver.Backend]. An unlock that is under way when ctx ends goes on for a moment;
// a connection that does not say what became of it is closed, and the lock ends with it.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return explain(ctx, b.table, "release", g.Key, b.release(ctx, g))
}

func (b *Backend) release(ctx context.Context, g driver.Grant) error {
	return b.locks.Release(ctx, g.Key, false, g)
}

func (b *Backend) ready(ctx context.Context) error { return sessionlock.Ready(ctx, b.err) }
