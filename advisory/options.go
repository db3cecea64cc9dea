package advisory

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Option configures a backend.
type Option func(*options)

type options struct {
	sessions      int // 0: the default
	table         string
	noToken       bool
	sessionPooler bool
}

// Sessions sets the largest number of connections of the pool that hold locks or wait for them. One connection holds
// any number of locks. If all are running a statement, another connection is borrowed, up to half of n. The other half is for
// waiters in the server's queue, each of which needs its own connection. With Sessions(1) waiters poll instead. The
// default is 4, but at most half of what the pool allows, so that the work under a lock finds a connection.
func Sessions(n int) Option { return func(o *options) { o.sessions = n } }

// Table names the lease table, as sqllock.Table does. The sequence of tokens has the table's name with "_token" added:
// rowlock_lease_token by default. Give migrations the same name.
func Table(name string) Option { return func(o *options) { o.table = name } }

// NoToken makes grants without a token, which need no sequence and so no migration. Package fence cannot protect
// anything with such leases.
func NoToken() Option { return func(o *options) { o.noToken = true } }

// SessionPooler declares that a pooler in session mode is between this process and PostgreSQL. Without this option, a
// detected pooler is refused. With this option, the first use of a connection checks, with a second connection of the pool,
// that the two do not share a server process.
func SessionPooler() Option { return func(o *options) { o.sessionPooler = true } }

// check sets the defaults, and returns why the options cannot work. The pool allows most connections, where 0 means no
// limit.
func (o *options) check(most int) (sqltable.Table, error) {
	table, err := sqltable.Parse(o.table)
	if err != nil {
		return table, fmt.Errorf("advisory: %w", err)
	}
	if o.sessions, err = sessionlock.Limit(o.sessions, most); err != nil {
		return table, fmt.Errorf("advisory: %w", err)
	}
	return table, nil
}

var errNoPool = errors.New("advisory: the database handle is nil")
