package advisory

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/sessionlock"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Option changes how a backend is made.
type Option func(*options)

type options struct {
	sessions      int // 0: the default
	table         string
	noToken       bool
	sessionPooler bool
}

// Sessions is how many connections of the pool the locks are held on at most. One holds any number
// of locks; another is taken when one is needed while all are busy with a statement, up to half of them. The
// other half is for those who wait in the server's queue, each of whom needs a connection of his own:
// with Sessions(1) nobody does, and waiting is by polling. The default is 4, but no more than half of
// what the pool allows, so that the work under a lock finds a connection.
func Sessions(n int) Option { return func(o *options) { o.sessions = n } }

// Table names the lease table, as sqllock.Table does, because the sequence of tokens is called like
// it with "_token" behind it: rowlock_lease_token by default. Migrations must be given the same name.
func Table(name string) Option { return func(o *options) { o.table = name } }

// NoToken makes grants without token, which need no sequence and so no migration. Package fence
// cannot protect anything with them.
func NoToken() Option { return func(o *options) { o.noToken = true } }

// SessionPooler says that a pooler stands between here and Postgres and that it is in session mode.
// Without it a pooler that is recognised is refused. With it the first use of a connection makes
// sure, with a second one of the same pool, that the two do not share a server process.
func SessionPooler() Option { return func(o *options) { o.sessionPooler = true } }

// check puts the defaults in, and says what cannot work. The pool allows most connections, 0 is any
// number.
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
