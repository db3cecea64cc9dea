package advisory

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
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
	source source
	table  sqltable.Table
	opts   options
	sql    statements
	keyOf  func(driver.Key) int64
	err    error // what Validate reports

	mu       sync.Mutex
	sessions []*session
	locks    map[int64]*lock // what is held here, or being asked for, by key
	released memory
}

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Session   = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Describer = (*Backend)(nil)
	_ driver.Validator = (*Backend)(nil)
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
	return build(sqlSource{db}, opts)
}

func build(src source, opts []Option) *Backend {
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := o.check(src.most())
	s := &store{source: src, table: table, opts: o, keyOf: keyOf, err: err, locks: map[int64]*lock{}}
	if err == nil {
		s.sql = load(table)
	}
	return &Backend{store: s}
}

// Shared returns the form of b whose grants share a name with each other, and exclude those of b and
// of everybody who takes it exclusively. It lives on the same connections.
func (b *Backend) Shared() *Backend { return &Backend{store: b.store, shared: true} }

// Validate reports an option that cannot work. rowlock.New calls it.
func (b *Backend) Validate() error { return b.err }

// Capabilities says what advisory locks promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "advisory/postgres", Token: driver.LinearizableToken, Sessions: true, Anonymous: true, Inspects: true}
	if b.opts.noToken {
		c.Token = driver.NoToken
	}
	return c
}

// Session implements [driver.Session].
func (b *Backend) Session(g driver.Grant) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.find(b.id(g.Key), g); h != nil && h.session != nil {
		return h.session.ctx
	}
	return ended
}

// ended is the session of a grant that is not known.
var ended = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errNotMine)
	return ctx
}()

func (s *store) id(key driver.Key) int64 {
	if s.err != nil {
		return 0
	}
	return s.keyOf(key)
}

// ready is why a call cannot be made at all.
func (s *store) ready(ctx context.Context) error {
	if s.err != nil {
		return driver.Permanent(s.err)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// unkeepable names an option of r that ends with the session and so cannot outlast it.
func unkeepable(r driver.Request) error {
	option := ""
	switch {
	case r.MinHold > 0:
		option = "MinHold"
	case r.HandoverDelay > 0:
		option = "HandoverDelay"
	default:
		return nil
	}
	return driver.Permanent(fmt.Errorf("advisory: option %s: a session lock is free as soon as it is released or its connection ends: keep such locks with sqllock", option))
}
