package mysqlock

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Option changes how a backend is made.
type Option func(*options)

type options struct {
	sessions int // 0: the default
	table    string
	noToken  bool
	cluster  bool
}

// Sessions is how many connections of the pool the backend uses at most. One holds any number of locks;
// another is taken when one is needed while all are busy with a statement, up to half of them. The
// other half is for those who wait in the server's queue, each of whom needs a connection of his own:
// with Sessions(1) nobody does, and waiting is by polling. The default is 4, but no more than half of
// what the pool allows, so that the work under a lock finds a connection.
func Sessions(n int) Option { return func(o *options) { o.sessions = n } }

// Table names the lease table, as sqllock.Table does, because the table of tokens is called like it
// with "_counter" behind it: rowlock_lease_counter by default. Migrations must be given the same name.
// A schema in front of it, as in "ops.jobs", is the schema whose locks are meant; without one it is the
// schema that the connection has chosen. All programs that share locks must name the same table.
func Table(name string) Option { return func(o *options) { o.table = name } }

// NoToken makes grants without token, which need no table and so no migration. Package fence cannot
// protect anything with them, and who holds a lock is known as a connection only.
func NoToken() Option { return func(o *options) { o.noToken = true } }

// SingleWriter says that every program that takes these locks reaches the same one server of a
// cluster (Galera, or group replication with several primaries), for instance by a proxy that sends
// all to one node. Without it such a server is refused, because its locks are those of one node.
func SingleWriter() Option { return func(o *options) { o.cluster = true } }

// check puts the defaults in, and says what cannot work. The pool allows most connections, 0 is any
// number.
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
