// Package mysqlock keeps locks as named locks of MySQL and MariaDB sessions (GET_LOCK). It is a backend for package
// rowlock:
//
//	locker, err := rowlock.New(mysqlock.New(db))
//
// Renewing such a lock writes no row, and the lock is free as soon as its holder's connection ends, not a TTL later. On
// the other hand, one server keeps the lock in memory and replicates it nowhere. If the limits below matter to you, use
// package sqllock, whose lease rows do not have them.
//
// # What holds a lock
//
// A connection from the caller's pool holds locks, any number of them. It returns to the pool after the last release.
// [Sessions] limits the number of such connections.
//
// The server would grant a lock again to the session that already holds it. This backend never requests that, so two
// callers of one process exclude each other like callers of two processes.
//
// If the state of a connection is uncertain, it is closed instead of returned, and all its locks are lost.
//
// Leave room in the pool for other work. With SetMaxOpenConns(n), the backend uses at most half of the n connections
// unless Sessions says otherwise, and briefly one more when it takes the token of a further lock on the same
// connection.
//
// A lease is trusted for the TTL after the last proof that its session owns the lock. Each renewal is such a proof
// (IS_USED_LOCK on the same connection, in one statement for all its locks).
//
// An end that the server sends to the client, by KILL, wait_timeout, shutdown or a reset, is noticed within about 100
// ms. go-sql-driver does not expose a socket to wait on. But it can check a connection without waiting, as it does
// before it uses an idle one. This needs its parameter checkConnLiveness, which is on by default. It does not work on
// Windows or with another driver, where the next renewal notices the end. A server or network that falls silent is
// noticed at the trust deadline.
//
// The options MinHold and HandoverDelay are refused, because they would have to outlast the session.
//
// # Limits
//
//   - Failover: a new primary has none of the old primary's locks. The new primary can grant the same names
//     while holders on the old primary still trust their leases. A read-only server (read_only) is refused. A server
//     that becomes read-only, even briefly for maintenance, loses all its leases at the next renewal, because another
//     server may already grant the same names. Tokens keep rising on the new primary if the table of tokens was
//     replicated, or if the clocks agree. A resource that checks tokens (package fence) then rejects the old
//     holder.
//   - Replicas, Galera, group replication with several primaries: a lock belongs to one node. They are refused unless
//     [SingleWriter] declares that all programs connect to the same node.
//   - Proxies that share a connection between clients (ProxySQL and RDS Proxy without session pinning): they are not
//     detected, so connect to the server directly. Vitess and TiDB are refused.
//   - Dead hosts: if a holder's host vanishes, its locks stay until the server closes the connection. That takes the
//     shortest of wait_timeout, net_read_timeout during a statement, and the system's TCP keep-alive (two hours by
//     default). Set wait_timeout in the DSN to a few renewal intervals, so that the server closes such a connection
//     itself.
//   - An implicit reconnect of a driver or proxy loses the lock silently. database/sql never reconnects a borrowed
//     connection.
//   - binlog_format=STATEMENT: a replica would not get the tokens. It is refused unless [NoToken] is set.
//
// # Tokens
//
// A token comes from the row of the lock's name in rowlock_lease_counter. The row is written once for each grant, while
// the lock is held. The first lock on a connection is acquired by the same statement. Package migrations creates the
// table. The user needs
//
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_meta TO app;
//
// Prune also needs DELETE on the first table. PROCESS is needed to show which client holds a lock without a token.
// ForceRelease of another user's lock needs CONNECTION_ADMIN (or SUPER).
//
// # Waiting
//
// A waiter waits in the server's queue, on a connection of its own, for one second at a time. The server wakes it at
// once, in no promised order. A cancelled wait closes its connection. The server needs up to a second to notice, and
// may grant the lock to that connection until then. A readTimeout in the DSN must be longer than a second, or it ends
// every wait early.
//
// # Names
//
// The server's lock names are hashes of the schema, the namespace and the name (see [LockName]). So names work the same
// on MySQL, which ignores case and allows 64 characters, and on MariaDB, which does neither. The locks of two schemas
// of one server are independent.
package mysqlock
