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

// Backend keeps locks as advisory locks of Postgres sessions. It is safe for concurrent use. It
// borrows connections from the caller's pool while it holds locks, and gives them back with the last
// lock; the pool stays the caller's to close.
type Backend struct {
	*store

	shared bool
}

// store is what the exclusive and the shared form of a backend have in common.
type store struct {
	source   source
	table    sqltable.Table
	opts     options
	sql      statements
	keyOf    func(driver.Key) int64
	err      error    // why it cannot work
	warnings []string // of the handle
	locks    sessionlock.Store[int64]
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Session  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// New keeps locks in the database that a pgx pool reaches.
func New(pool *pgxpool.Pool, opts ...Option) *Backend {
	if pool == nil {
		return &Backend{store: &store{err: errNoPool}}
	}
	return build(pgxSource{pool}, opts)
}

// NewDB keeps locks in the Postgres database that db reaches, with pgx's driver for database/sql
// (github.com/jackc/pgx/v5/stdlib). With another driver the end of a connection is noticed by the
// next heartbeat only, and a pooler less surely.
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
	s.locks.Most, s.locks.Waiting, s.locks.Together = o.sessions, o.sessions/2, true
	s.locks.Link = func(base *sessionlock.Session[int64]) sessionlock.Link[int64] {
		return &session{Session: base, store: s}
	}
	if err == nil {
		s.sql = load(table)
	}
	return &Backend{store: s}
}

// Shared returns the form of b whose grants share a name with each other, and exclude those of b and
// of everybody who takes it exclusively. It lives on the same connections.
func (b *Backend) Shared() *Backend { return &Backend{store: b.store, shared: true} }

// Capabilities says what advisory locks promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "advisory/postgres", Token: driver.LinearizableToken, Sessions: true, Anonymous: true, Shares: b.shared, Warnings: b.warnings, Invalid: b.err}
	if b.opts.noToken {
		c.Token = driver.NoToken
	}
	return c
}

// Session implements [driver.Session].
func (b *Backend) Session(g driver.Grant) context.Context { return b.locks.Session(b.id(g.Key), g) }

// Acquire implements [driver.Backend]. A name that is held through this backend is refused without
// asking the server, which would grant it again to the session that has it.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, r, func(id int64) (driver.Grant, context.Context, error) {
		g, err := b.locks.Acquire(ctx, id, b.shared, r)
		return g, ctx, err
	})
}

// Await implements [driver.Awaiter]: it waits on a connection of its own, which holds nothing else and is
// closed if the wait is cut short. When there may be no more connections it asks once.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return b.acquire(ctx, r, func(id int64) (driver.Grant, context.Context, error) {
		return b.locks.Await(ctx, id, b.shared, r, wait)
	})
}

// acquire returns what by does, whose context is the one that bounded it last.
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

// Renew implements [driver.Backend]: it proves that the sessions hold what they hold, with one
// statement for each session, all at the same time.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	outcomes, err := b.locks.Renew(ctx, b.keyOf, b.shared, grants)
	return outcomes, explain(ctx, b.table, "renew", driver.Key{}, err)
}

// Release implements [driver.Backend]. An unlock that is under way when ctx ends goes on for a moment;
// a connection that does not say what became of it is closed, and the lock ends with it.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return explain(ctx, b.table, "release", g.Key, b.locks.Release(ctx, b.keyOf(g.Key), b.shared, g))
}

func (s *store) id(key driver.Key) int64 {
	if s.err != nil {
		return 0
	}
	return s.keyOf(key)
}

func (s *store) ready(ctx context.Context) error { return sessionlock.Ready(ctx, s.err) }
