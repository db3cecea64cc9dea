//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testserver"
)

// store is a kind of store: how to start it, how a worker opens it, and what it promises.
type store struct {
	name    string
	servers []server
	open    func(j job) (*client, error)
	expect  history.Expect
	// Each is true if the store can have this kind of fault. Every store also has the faults that hit workers. A SQLite
	// file has only those.
	network, crash, stop, clock bool
	shutdown                    bool
	own                         []string                                        // kinds of faults that only this store has
	only                        []string                                        // if not empty, only these kinds of faults are used
	settle                      func(ctx context.Context, addrs []string) error // runs once before the first worker starts
	// if not nil, starts the store's nodes in place of the field servers; data is the folder of the file with the data
	cluster func(ctx context.Context, data string) (cluster, error)
}

// server is one node of a store.
type server struct {
	engine  string
	options testserver.Options
	behind  bool // true if this server is the Postgres behind the next server, which is a pooler
}

// client is a worker's access to a store and to the data.
type client struct {
	backend driver.Backend
	data    *data
	guard   *fence.Guard
	sealer  rowlock.Sealer
	pair    rowlock.Sealer
	closers []func()
}

func (c *client) close() {
	for i := len(c.closers) - 1; i >= 0; i-- {
		c.closers[i]()
	}
}

// data is a SQL database.
type data struct {
	*sql.DB
	dialect
}

// seals is a guard that seals the resources left and right instead of the lock's own resource.
type seals func(ctx context.Context, lease *rowlock.Lease, resources ...string) error

func (s seals) Seal(ctx context.Context, lease *rowlock.Lease, _ ...string) error {
	return s(ctx, lease, left, right)
}

// guarded completes a client whose fence uses the tokens of the lock (fence.Guard.Seal).
func (c *client) guarded(d *data, opts ...fence.Option) *client {
	c.data = d
	c.guard = d.guard(d.DB, opts...)
	c.sealer, c.pair = c.guard, seals(c.guard.Seal)
	return c
}

// claimed completes a client whose fence issues its own tokens (fence.Guard.Claim), because the lock's tokens are not
// reliable.
func (c *client) claimed(d *data) *client {
	c.guarded(d)
	c.sealer, c.pair = c.guard.Claimer(), seals(c.guard.Claim)
	return c
}

func (c *client) then(f func()) { c.closers = append(c.closers, f) }

// sessionEnd lists the faults that may end a session before its holder detects the end. All locks of the session end with it.
var sessionEnd = []string{evict, reset, cut, dropReset, dropHang, slow, halfOpen, serverKill, serverRestart, serverStop}

// After a crash, a lock must become free within the TTL plus this time. The time is long because the machine may be
// loaded.
const crashBound = 10 * time.Second

var errNoStore = errors.New("no such backend")

func findStore(name string) (store, error) {
	for _, s := range stores {
		if s.name == name {
			return s, nil
		}
	}
	return store{}, errNoStore
}
