package advisory

import (
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
	requests
	*store
}

// requests are the methods Acquire, Await, Renew and Release. Acquire refuses a name that this backend already holds
// without a request to the server, unless both are shares, because the server would grant the lock to the same session a
// second time. Await waits in the server's queue, on a connection that holds no locks. Renew checks on each session that
// it still holds its locks.
type requests = sessionlock.Requests

// store is the state of a Backend that its sessions use.
type store struct {
	source   source
	opts     options
	sql      statements
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
		return build(nil, nil)
	}
	return build(pgxSource{pool}, opts)
}

// NewDB makes a backend that keeps locks in the PostgreSQL database of db. Use pgx's driver for database/sql
// (github.com/jackc/pgx/v5/stdlib). With another driver, only the next heartbeat notices that a connection has ended,
// and poolers are detected less reliably.
func NewDB(db *sql.DB, opts ...Option) *Backend {
	if db == nil {
		return build(nil, nil)
	}
	b := build(sqlSource{db}, opts)
	b.warnings = sqlhandle.Warnings(db)
	return b
}

func build(src source, opts []Option) *Backend {
	s := &store{source: src, opts: options{Options: sessionlock.Options{Table: sqltable.Default}}}
	s.locks.Name, s.locks.Remedy, s.locks.KeyOf = "advisory", s.remedy, keyOf
	s.locks.Link = func(base *sessionlock.Session[int64]) sessionlock.Link[int64] {
		return &session{Session: base, store: s}
	}
	b := &Backend{&s.locks, s}
	if src == nil {
		s.locks.Err = errNoPool
		return b
	}
	for _, opt := range opts {
		opt(&s.opts)
	}
	s.locks.Configure(s.opts.Options, src.most())
	if s.locks.Err == nil {
		s.sql = load(s.locks.Table)
	}
	return b
}

// Capabilities describes what advisory locks promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "advisory/postgres", Token: driver.LinearizableToken, Sessions: true, Anonymous: true, Shares: true, Warnings: b.warnings, Invalid: b.locks.Err}
	if b.opts.NoToken {
		c.Token = driver.NoToken
	}
	return c
}
