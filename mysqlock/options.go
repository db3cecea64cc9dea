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

// Sessions sets the largest number of connections of the pool that hold locks or wait for them. One connection holds
// any number of locks. Another is borrowed if all are running a statement, for up to half of n. The other half is for
// waiters in the server's queue, each of which needs its own connection. With Sessions(1) waiters poll instead. The
// default is 4, but at most half of what the pool allows, so that the work under a lock finds a connection.
func Sessions(n int) Option { return func(o *options) { o.sessions = n } }

// Table names the lease table, as sqllock.Table does. The table of tokens has that name with "_counter" added:
// rowlock_lease_counter by default. Give migrations the same name. A schema in the name, as in "ops.jobs", is the
// schema of the locks. Without one it is the connection's schema. All programs that share locks must name the same
// table.
func Table(name string) Option { return func(o *options) { o.table = name } }

// NoToken makes grants without a token, which need no table and so no migration. Package fence cannot protect anything
// with such leases, and other processes see only the connection of a holder.
func NoToken() Option { return func(o *options) { o.noToken = true } }

// SingleWriter declares that every program that uses these locks connects to the same node of a cluster (Galera, or
// group replication with several primaries), for instance through a proxy. Without it such a server is refused, because
// each node has its own locks.
func SingleWriter() Option { return func(o *options) { o.cluster = true } }

// check sets the defaults, and returns why the options cannot work. The pool allows most connections, where 0 means no
// limit.
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
