package advisory

import (
	"errors"

	"github.com/rowlock/rowlock/internal/sessionlock"
)

// Option configures a backend.
type Option func(*options)

type options struct {
	sessionlock.Options
	sessionPooler bool
}

// Sessions limits the number of connections that the backend borrows from the pool, for holding locks and for waiting.
// One connection can hold any number of locks. While all its connections are running a statement, the backend borrows
// another one, up to half of n. The other half of n is for waiters in the server's queue. Each of these waiters needs
// its own connection. With Sessions(1) waiters poll instead. The default is 4, but at most half of the connections
// that the pool allows. So the other half is left for the work that runs while a lock is held.
func Sessions(n int) Option { return func(o *options) { o.Sessions = n } }

// Table sets the name of the lease table, as sqllock.Table does. The sequence of tokens is named after it,
// with "_token" added: rowlock_lease_token by default. Pass the same name to package migrations.
func Table(name string) Option { return func(o *options) { o.Table = name } }

// NoToken makes the backend grant locks without a token. The backend then needs no sequence and no migration. Package
// fence cannot protect anything with such leases.
func NoToken() Option { return func(o *options) { o.NoToken = true } }

// SessionPooler declares that a pooler in session mode is between this process and PostgreSQL. Without this option,
// the backend refuses to work behind a pooler that it detects. With this option, the first use of a connection opens
// a second connection of the pool, and checks that the two do not share a server process.
func SessionPooler() Option { return func(o *options) { o.sessionPooler = true } }

var errNoPool = errors.New("advisory: the database handle is nil")
