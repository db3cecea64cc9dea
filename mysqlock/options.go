package mysqlock

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Option configures a backend.
type Option func(*options)

type options struct {
	sessions int // 0: the default
	table    string
	noToken  bool
	cluster  bool
}

// Sessions limits the number of connections that the backend borrows from the pool, for holding locks and for waiting.
// One connection can hold any number of locks. If all borrowed connections are running a statement, the backend
// borrows another connection, up to half of n. The other half of n is for waiters. Each waiter in the server's queue
// needs its own connection. With Sessions(1) waiters poll instead. The default is 4, but at most half of the
// connections that the pool allows. So the caller's work can use the rest of the pool while a lock is held.
func Sessions(n int) Option { return func(o *options) { o.sessions = n } }

// Table sets the name of the lease table, as sqllock.Table does. The tables of this package are named after it, with
// "_mint" and "_counter" added: rowlock_lease_mint and rowlock_lease_counter by default. Pass the same name to package migrations. If the name contains a
// schema, as in "ops.jobs", the locks belong to that schema. If the name has no schema, the locks belong to the
// connection's schema. All programs that share locks must name the same table.
func Table(name string) Option { return func(o *options) { o.table = name } }

// NoToken makes the backend grant locks without a token. The backend then needs no table and no migration. Package
// fence cannot protect anything with such leases. Other processes can see the id of a holder's connection, but not the
// holder's name or note.
func NoToken() Option { return func(o *options) { o.noToken = true } }

// SingleWriter is for a cluster: Galera, or group replication with several primaries. With this option, you declare
// that all programs that use these locks connect to the same node, for instance through a proxy. Without this option,
// the backend refuses to lock on a server in such a cluster, because each node has its own locks.
func SingleWriter() Option { return func(o *options) { o.cluster = true } }

// check sets defaults and returns the lease table, or an error if the options are invalid.
// The parameter most is the number of connections that the pool allows, where 0 means no limit.
func (o *options) check(most int) (sqltable.Table, error) {
	table, err := sqltable.Parse(o.table)
	if err != nil {
		return table, fmt.Errorf("mysqlock: %w", err)
	}
	if o.sessions, err = sessionlock.Limit(o.sessions, most); err != nil {
		return table, fmt.Errorf("mysqlock: %w", err)
	}
	return table, nil
}

var errNoPool = errors.New("mysqlock: the database handle is nil")
