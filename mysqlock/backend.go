package mysqlock

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/rowlock/rowlock/driver"
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
	err   error // what Validate reports

	mu       sync.Mutex
	schema   string // of the locks; known with the first connection
	server   string // whose cluster was looked at last
	sessions []*session
	waits    int                       // sessions in the server's queue, which are not among the others
	asked    map[driver.Nonce]*holding // what is held here, or being asked for
	held     map[driver.Key]*holding   // what is held here
	released memory
}

var (
	_ driver.Backend   = (*Backend)(nil)
	_ driver.Session   = (*Backend)(nil)
	_ driver.Queuer    = (*Backend)(nil)
	_ driver.Inspector = (*Backend)(nil)
	_ driver.Describer = (*Backend)(nil)
	_ driver.Validator = (*Backend)(nil)
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
	b := &Backend{
		db: db, table: table, opts: o, err: err,
		asked: map[driver.Nonce]*holding{}, held: map[driver.Key]*holding{},
	}
	if err == nil {
		b.sql = load(table)
	}
	return b
}

// Validate reports an option that cannot work. rowlock.New calls it.
func (b *Backend) Validate() error { return b.err }

// Capabilities says what such locks promise.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "mysqlock", Token: driver.LinearizableToken, Sessions: true, Inspects: true}
	if b.opts.noToken {
		c.Token, c.Anonymous = driver.NoToken, true
	}
	return c
}

// Session implements [driver.Session].
func (b *Backend) Session(g driver.Grant) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.find(g); h != nil {
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

// ready is why a call cannot be made at all.
func (b *Backend) ready(ctx context.Context) error {
	if b.err != nil {
		return driver.Permanent(b.err)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// unkeepable names an option of r that would have to outlast the session.
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
	return driver.Permanent(fmt.Errorf("mysqlock: option %s: a session lock is free as soon as it is released or its connection ends: keep such locks with sqllock", option))
}
