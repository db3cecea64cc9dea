package mysqlock

import (
	"errors"

	"github.com/rowlock/rowlock/internal/sessionlock"
)

// Option configures a backend.
type Option func(*options)

type options struct {
	sessionlock.Options
	cluster bool
}

// Sessions limits the number of connections that the backend borrows from the pool, for holding locks and for waiting.
// One connection can hold any number of locks. If all borrowed connections are running a statement, the backend
// borrows another connection, up to half of n. The other half of n is for waiters. Each waiter in the server's queue
// needs its own connection. With Sessions(1) a waiter uses the only connection until another request needs it. The
// default is 4, but at most half of the connections that the pool allows. So the caller's work can use the rest of the
// pool while a lock is held.
func Sessions(n int) Option { return func(o *options) { o.Sessions = n } }

// Table sets the name of the lease table, as sqllock.Table does. The tables of this package are named after it, with
// "_mint" and "_counter" added: rowlock_lease_mint and rowlock_lease_counter by default. Pass the same name to package migrations. If the name contains a
// schema, as in "ops.jobs", the locks belong to that schema. If the name has no schema, the locks belong to the
// connection's schema. All programs that share locks must name the same table.
func Table(name string) Option { return func(o *options) { o.Table = name } }

// NoToken makes the backend grant locks without a token. The backend then needs no table and no migration. Package
// fence cannot protect anything with such leases. Other processes can see the id of a holder's connection, but not the
// holder's name or note.
func NoToken() Option { return func(o *options) { o.NoToken = true } }

// SingleWriter is for a cluster: Galera, or group replication with several primaries. With this option, you declare
// that all programs that use these locks connect to the same node, for instance through a proxy. Without this option,
// the backend refuses to lock on a server in such a cluster, because each node has its own locks.
func SingleWriter() Option { return func(o *options) { o.cluster = true } }

var errNoPool = errors.New("mysqlock: the database handle is nil")
