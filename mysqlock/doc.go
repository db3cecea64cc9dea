// Package mysqlock keeps locks as named locks of MySQL and MariaDB sessions (GET_LOCK), behind the same
// API as every other backend:
//
//	locker, err := rowlock.New(mysqlock.New(db))
//
// A lock costs no row that is written on each renewal, and is free as soon as its holder's connection
// ends, not a TTL later. For that it is one server's, in memory, and replicated nowhere. Where that is
// not enough, sqllock is the better choice: its lease rows survive what is listed below.
//
// # What holds a lock
//
// A connection does, which is taken from the caller's pool, holds any number of locks, and goes back
// with the last of them ([Sessions] says how many there are at most). The server would grant a lock
// again to the session that has it; this backend never asks it to, and two callers of one process
// exclude each other as those of two do. A connection whose state is in doubt is closed and not pooled,
// and all that lives on it is lost. The pool needs room for the work as well: with SetMaxOpenConns(n),
// at most half of the n connections are used unless Sessions says otherwise, and one moment's
// connection more whenever a token is taken for a second lock.
//
// The TTL says how long a lease is trusted after the last proof that its session owns the lock; each
// renewal brings one (IS_USED_LOCK on the same connection, one statement for all locks on it). An end
// that the server has told of, by KILL, wait_timeout, shutdown or a reset, is noticed within about
// 100 ms: go-sql-driver lends no socket to wait on, but it can look at one without waiting, as it does
// before it uses an idle connection. That needs its parameter checkConnLiveness, which is on by default,
// and does not work on Windows or with another driver: there the next renewal notices. A server or
// network that falls silent is noticed by the deadline of the trust.
//
// The options MinHold and HandoverDelay are refused: they would have to outlast the session.
//
// # What these locks cannot do
//
//   - Failover: a new primary knows nothing of the locks of the old one, and grants them again while
//     old holders trust theirs until they notice. A server that is read-only (read_only) is refused, and
//     one that becomes so, even for a moment's maintenance, loses all its leases with the next renewal,
//     because another may grant the same names by now. Tokens go on rising on the new primary as far as
//     the table of tokens was replicated, or the clocks agree; a resource that checks them (package
//     fence) refuses the old holder.
//   - Replicas, Galera, group replication with several primaries: a lock is one node's. They are
//     refused, unless [SingleWriter] says that all programs reach the same node.
//   - Proxies that share a connection between clients (ProxySQL and RDS Proxy without session pinning):
//     reach the server directly. They are not recognised. Vitess and TiDB are refused.
//   - A holder whose machine stops without a word keeps its locks for as long as the server believes in
//     its connection: the least of wait_timeout, net_read_timeout while it speaks, and the system's TCP
//     keep-alive (two hours by default). Set wait_timeout in the DSN to a few times the renewal interval:
//     then the server ends such a connection itself.
//   - An implicit reconnect anywhere loses the lock silently; database/sql makes none on a connection
//     that is held.
//   - binlog_format=STATEMENT: a replica would not get the tokens. It is refused, unless [NoToken] says
//     that there are none.
//
// # Tokens
//
// A token comes from the row of its name in rowlock_lease_counter, which is written under the lock, once
// a grant; the first lock on a connection is taken by the same statement. The table is made by package
// migrations. The user needs
//
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_meta TO app;
//
// DELETE on the first as well for Prune, PROCESS to see whose connection holds a lock that was taken
// without a token, and CONNECTION_ADMIN (or SUPER) for ForceRelease of another user's lock.
//
// # Waiting
//
// A waiter stands in the server's own queue, on a connection of its own, a second at a time; the server
// wakes it at once. It promises no order. A wait that is cut short closes its connection; the server
// needs up to a second to notice, and until then may grant the lock to what is left of the wait. A readTimeout
// in the DSN must be longer than a second, or it cuts every wait short.
//
// # Names
//
// The server's names are hashes of the schema, the namespace and the name: see [LockName]. So MySQL,
// which folds case and allows 64 characters, and MariaDB, which does neither, agree, and two schemas of
// one server do not meet.
package mysqlock
