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

// store is a kind of store, how to start it, how a worker opens it, and what it promises.
type store struct {
	name    string
	servers []server
	open    func(j job) (*client, error)
	expect  history.Expect
	// kinds of faults besides those of the workers, of which a SQLite file has no others
	network, crash, stop, clock bool
	shutdown                    bool
	place                       string                                                    // of the data's file in the folder of the run
	own                         []string                                                  // kinds that only this store knows
	only                        []string                                                  // if any, these kinds and no others
	settle                      func(ctx context.Context, addrs []string) error           // once, before the first worker
	cluster                     func(ctx context.Context, folder string) (cluster, error) // in place of servers
}

// server is one node of a store.
type server struct {
	engine  string
	options testserver.Options
	behind  bool // it is Postgres behind the next one, a pooler
}

// client is what a worker has of a store and of the data.
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

// seals calls a guard for two resources instead of the lock's own.
type seals func(ctx context.Context, lease *rowlock.Lease, resources ...string) error

func (s seals) Seal(ctx context.Context, lease *rowlock.Lease, _ ...string) error {
	return s(ctx, lease, left, right)
}

// guarded finishes a client whose data are guarded by seals.
func (c *client) guarded(d *data, opts ...fence.Option) *client {
	c.data = d
	c.guard = d.guard(d.DB, opts...)
	c.sealer, c.pair = c.guard, seals(c.guard.Seal)
	return c
}

// claimed is guarded by claims.
func (c *client) claimed(d *data) *client {
	c.guarded(d)
	c.sealer, c.pair = c.guard.Claimer(), seals(c.guard.Claim)
	return c
}

func (c *client) then(f func()) { c.closers = append(c.closers, f) }

// What may end a session before its holder knows, and with it all locks that live on it.
var sessionEnd = []string{evict, reset, cut, dropReset, dropHang, slow, halfOpen, serverKill, serverRestart, serverStop}

const crashBound = 10 * time.Second // besides the TTL: for a loaded machine

var errNoStore = errors.New("no such backend")

func findStore(name string) (store, error) {
	for _, s := range stores {
		if s.name == name {
			return s, nil
		}
	}
	return store{}, errNoStore
}
