// Package sqllock keeps locks as lease rows in a SQL database: PostgreSQL 12 or newer, MySQL 8.0
// and MariaDB 10.6 or newer, SQLite 3.35 or newer. It is a backend for package rowlock:
//
//	locker, err := rowlock.New(sqllock.Postgres(db))
//
// Locks share the pool of the application. Renewals and releases do not wait for it: while every connection of a pool for a
// server is in use, they go through one more, which is opened as those of the pool are and closed soon after. docs/postgres.md and
// docs/mysql.md say how large a pool should be.
//
// The tables come from package migrations; nothing is created at run time. A missing or outdated
// table is a [SchemaError].
//
// # How it works
//
// One row is one lock: who holds it, since when, until when, and a token. All times are the
// database's. An acquire is one statement that grants the lock if nobody has it, and says in the
// same answer who has it otherwise; one that is refused writes nothing. A renewal is one statement
// for any number of leases. A release is one statement; the row stays, because the next token must
// be larger. (MySQL and MariaDB take two to refuse, because no statement of MySQL both changes a row and
// reads one; a waiter's later attempts are one again, and a grant is two where nothing was looked up for ten seconds.
// SQLite has no network between, and takes two small statements where that is faster.)
// No statement needs a transaction around it, so a pooler in transaction mode is fine.
//
// A token is the largest of: the last token of that lock plus one, the floor that Prune raises plus
// one, and the database's clock in microseconds. So tokens rise through release, expiry, Prune,
// a restored backup and a failover that lost the last grants, as long as the clock of the new server is
// not behind that of the old one by more than the failover took.
//
// When the database is another than the one that granted last, nothing is granted for as long as
// the longest lease ever granted: the other may have granted leases that are still trusted. Postgres
// is recognised by its system identifier and timeline, MySQL and MariaDB by what they have of that
// kind. A mere restart closes nothing.
//
// # Postgres
//
// Grants and renewals are durable even where sessions commit asynchronously; releases are not, because a
// release that is lost in a crash costs one TTL and no more. With synchronous replication, do not
// cancel a server process that waits for its standby: the grant is then reported although only the
// primary has it.
//
// Waiters are woken. Whoever waits has a row in the table of waiters, and one connection of the pool listens for as
// long as a backend has waiters, and five seconds longer. A release, in its one statement, notifies the one process that
// has waited longest, and keeps the lock for it for 50 ms, or, where many want it, grants it to the request that was left
// with the row; a release that finds no waiter notifies nobody. A notification is a hint, because every role may send one:
// the waiter believes the row of the lock. What is lost
// on the way is found by the poll. Through a pooler nobody listens, nor with another driver than pgx, nor on a
// pool of database/sql that is limited to one connection: there waiters poll, and Capabilities say so.
//
// With rowlock.Fenced and a guard on the same handle and table, the statement that grants also raises
// the fence mark, after the transactions of older holders; see package fence. A lock that is acquired without
// a guard runs another statement, which knows of no marks.
//
// Any default isolation level works: serialization failures are repeated inside a call until its
// context's deadline is near. READ COMMITTED has none.
//
// [Pgx] and [Postgres] with pgx's driver notice a pooler that mixes up prepared statements (PgBouncer
// before 1.21), and go on without preparing any. A transaction of the caller's own needs
// default_query_exec_mode=exec there, as all his statements do.
//
// # MySQL and MariaDB
//
// Neither server can notify a client, so waiters poll: after a quarter of the time for which the lock has
// been held, at least 4 ms and a second at most. The row has a queue of the processes that wait, in the order in which they
// came. A release reserves the lock for the first of them for 50 ms. Another process is refused meanwhile.
//
// A release is durable like every other commit: innodb_flush_log_at_trx_commit is the server's.
// It waits a second at most for another transaction that has locked the row. No other statement waits for a transaction.
// docs/mysql.md says more, and what to run with several writers or behind a proxy.
//
// # SQLite
//
// A file has one writer at a time, so every other writer of the file delays grants, renewals and
// releases: keep locks in a file of their own, in WAL mode, unless data and lock must change in one
// transaction. An acquire that finds a writer at work for a quarter of a second answers that the
// lock is contended, because that writer may have it in a transaction. The clock is the machine's.
// Tokens are as durable as PRAGMA synchronous says. Network file systems do not lock reliably.
//
// With a write-ahead log a release is not flushed: one that is lost when the machine crashes costs one TTL.
// It reserves the lock for 50 ms for the waiter that has waited longest. Waiters of other processes
// notice it because they watch the file.
//
// # Locks in a transaction
//
// [Backend.InTx] takes a lock of the same names for as long as a transaction of the caller's lasts:
// for work that is one transaction, it needs no lease at all.
package sqllock
