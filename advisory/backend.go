package advisory

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Backend implements locks with PostgreSQL's session-level advisory locks. It is safe for concurrent use. It borrows
// connections from the caller's pool while it holds locks, and while its requests wait for locks. It returns the
// connections after the last release. It never closes the pool.
type Backend struct {
	*store
}

// store is the state of a Backend that its sessions use.
type store struct {
	source   source
	table    sqltable.Table
	opts     options
	sql      statements
	keyOf    func(driver.Key) int64
	err      error    // the options or the handle are invalid, so every call fails with this error
	warnings []string // problems of the database handle that do not prevent locking
	locks    sessionlock.Store[int64]
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// New makes a backend that keeps locks in the database of a pgx pool.
func New(pool *pgxpool.Pool, opts ...Option) *Backend {
	if pool == nil {
		return &Backend{store: &store{err: errNoPool}}
	}
	return build(pgxSource{pool}, opts)
}

// NewDB makes a backend that keeps locks in the PostgreSQL database of db. Use pgx's driver for database/sql
// (github.com/jackc/pgx/v5/stdlib). With another driver, only the next heartbeat notices that a connection has ended,
// and poolers are detected less reliably.
func NewDB(db *sql.DB, opts ...Option) *Backend {
	if db == nil {
		return &Backend{store: &store{err: errNoPool}}
	}
	b := build(sqlSource{db}, opts)
	b.warnings = sqlhandle.Warnings(db)
	return b
}

func build(src source, opts []Option) *Backend {
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := o.check(src.most())
	s := &store{source: src, table: table, opts: o, keyOf: keyOf, err: err}
	s.locks.Most, s.locks.Waiting = o.sessions, o.sessions/2
	s.locks.Prompt, s.locks.Linger = true, sessionlock.Linger(src.most())
	s.locks.Link = func(base *sessionlock.Session[int64]) sessionlock.Link[int64] {
		return &session{Session: base, store: s}
	}
	if err == nil {
		s.sql = load(table)
	}
	return &Backend{store: s}
}

// Capabilities describes what advisory locks promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "advisory/postgres", Token: driver.LinearizableToken, Sessions: true, Anonymous: true, Shares: true, Warnings: b.warnings, Invalid: b.err}
	if b.opts.noToken {
		c.Token = driver.NoToken
	}
	return c
}

// Acquire implements [driver.Backend]. If this backend already holds the name, and r does not
// ask for another share of it, Acquire returns a refusal without a request to the server. The server would grant the lock
// to the same session a second time.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, r, func(id int64) (driver.Grant, context.Context, error) {
		g, err := b.locks.Acquire(ctx, id, r)
		return g, ctx, err
	})
}

// Await implements [driver.Awaiter]. The request waits in the server's queue, on a connection that holds no locks. If
// the wait is cancelled, Await closes that connection. If the option Sessions allows no other connection, Await makes
// one attempt without waiting.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return b.acquire(ctx, r, func(id int64) (driver.Grant, context.Context, error) {
		return b.locks.Await(ctx, id, r, wait)
	})
}

// acquire checks r, computes the key of r's lock, and calls the function by with that key. The function by sends the
// statements. It also returns the context that limited its last statement. If by fails, acquire converts the error to
// one that package driver defines.
func (b *Backend) acquire(ctx context.Context, r driver.Request, by func(id int64) (driver.Grant, context.Context, error)) (driver.Grant, error) {
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	err := sessionlock.Keepable(r)
	var g driver.Grant
	if err == nil {
		g, ctx, err = by(b.keyOf(r.Key))
	}
	return g, explain(ctx, b.table, "acquire", r.Key, err)
}

// Renew implements [driver.Backend]. It sends one statement on each session, all in parallel, and the server reports
// which locks the session still holds.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	outcomes, err := b.locks.Renew(ctx, b.keyOf, grants)
	return outcomes, explain(ctx, b.table, "renew", driver.Key{}, err)
}

// Release implements [driver.Backend]. If ctx ends while the unlock statement runs, the statement may continue
// for a short time. If the server does not answer it in that time, the connection is closed, which releases the lock.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return explain(ctx, b.table, "release", g.Key, b.locks.Release(ctx, b.keyOf(g.Key), g))
}

func (s *store) id(key driver.Key) int64 {
	if s.err != nil {
		return 0
	}
	return s.keyOf(key)
}

func (s *store) ready(ctx context.Context) error { return sessionlock.Ready(ctx, s.err) }
