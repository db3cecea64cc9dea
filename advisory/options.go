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

// Sessions limits the number of connections that the backend borrows from the pool, for holding locks and for waiting.
// One connection can hold any number of locks. While all its connections are running a statement, the backend borrows
// another one, up to half of n. The other half of n is for waiters in the server's queue. Each of these waiters needs
// its own connection. With Sessions(1) waiters poll instead. The default is 4, but at most half of the connections
// that the pool allows. So the other half is left for the work that runs while a lock is held.
func Sessions(n int) Option { return func(o *options) { o.sessions = n } }

// Table sets the name of the lease table, as sqllock.Table does. The sequence of tokens is named after it,
// with "_token" added: rowlock_lease_token by default. Pass the same name to package migrations.
func Table(name string) Option { return func(o *options) { o.table = name } }

// NoToken makes the backend grant locks without a token. The backend then needs no sequence and no migration. Package
// fence cannot protect anything with such leases.
func NoToken() Option { return func(o *options) { o.noToken = true } }

// SessionPooler declares that a pooler in session mode is between this process and PostgreSQL. Without this option,
// the backend refuses to work behind a pooler that it detects. With this option, the first use of a connection opens
// a second connection of the pool, and checks that the two do not share a server process.
func SessionPooler() Option { return func(o *options) { o.sessionPooler = true } }

// check sets defaults and returns the lease table, or an error if the options are invalid.
// The parameter most is the number of connections that the pool allows, where 0 means no limit.
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
