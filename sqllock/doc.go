// Package sqllock stores locks as lease rows in a SQL database: PostgreSQL 12 or newer, MySQL 8.0 and MariaDB 10.6 or
// newer, SQLite 3.35 or newer. It is a backend for package rowlock:
//
//	locker, err := rowlock.New(sqllock.Postgres(db))
//
// Locks use the application's connection pool. If every connection of the pool is in use, renewals and releases do not
// wait: the backend opens one additional connection for them, with the pool's settings, and closes it soon afterwards.
// docs/postgres.md and docs/mysql.md say how large a pool should be.
//
// Package migrations creates the tables; nothing is created at run time. If a table is missing or outdated, calls fail
// with a [SchemaError].
//
// # How it works
//
// Each lock has one row: its holder, when it was granted, when it expires, and its token. All times come from the
// database's clock. An acquire is one statement. It grants the lock if it is free, and otherwise returns the holder
// without writing anything. A renewal is one statement for any number of leases. A release is one statement. It keeps
// the row, because the next token must be larger. No statement needs a transaction around it, so a pooler in
// transaction mode works.
//
// MySQL and MariaDB need a second statement to report the holder, because no MySQL statement both changes and returns
// a row. A waiter's later attempts are one statement. A grant takes two statements if the backend has read nothing for
// ten seconds. SQLite has no network round trips, so the backend uses two small statements where that is faster.
//
// A token is the largest of three numbers: the lock's last token plus one, the floor that Prune raises plus one, and
// the database's clock in microseconds. So tokens rise across release, expiry, Prune, a restored backup, and a
// failover that lost the last grants. The failover case has one condition: the new server's clock may be behind the
// old one's by no more than the failover took.
//
// If the database server is not the one that granted last, nothing is granted for as long as the longest lease ever
// granted: the previous server may have granted leases that are still valid. Postgres is recognised by its system
// identifier and timeline, MySQL and MariaDB by their corresponding identifiers. A restart alone does not delay
// grants.
//
// # Postgres
//
// Grants and renewals are durable even if sessions commit asynchronously. Releases are not: a release that is lost in
// a crash delays the next grant by at most one TTL. With synchronous replication, do not cancel a server process that
// waits for its standby. The grant would be reported although only the primary has it.
//
// Waiters are notified. Each waiting process has a row in the table of waiters. One connection of the pool listens
// while a backend has waiters, and for five seconds afterwards. A release, in its one statement, notifies the process
// that has waited longest and reserves the lock for it for 50 ms. If many processes compete, the release instead
// grants the lock to the request that the waiter stored in its row. A release that finds no waiter notifies nobody.
// Every role may send a notification, so a waiter treats it as a hint and verifies the row of the lock. If a
// notification is lost, the waiter finds the lock with its next poll.
//
// Nothing listens through a pooler, with a driver other than pgx, or on a database/sql pool that is limited to one
// connection. Waiters poll there, and Capabilities reports it.
//
// With rowlock.Fenced and a guard on the same handle and table, the statement that grants the lock also raises the
// fence mark. It first waits for the transactions of older holders; see package fence. Without a guard, an acquire
// runs a statement that ignores fence marks.
//
// Any default isolation level works. A call retries serialization failures until its context's deadline is near. READ
// COMMITTED causes none.
//
// [Pgx], and [Postgres] with pgx's driver, detect a pooler that mixes up prepared statements (PgBouncer before 1.21),
// and then stop preparing statements. Your own transactions need default_query_exec_mode=exec there, as all your
// statements do.
//
// # MySQL and MariaDB
//
// Neither server can notify a client, so waiters poll. The delay is a quarter of the time for which the lock has been
// held, at least 4 ms and at most one second. The lock's row contains a queue of the waiting processes, in order of
// arrival. A release reserves the lock for the first of them for 50 ms. Other processes are refused during that time.
//
// A release is as durable as every other commit: the server's innodb_flush_log_at_trx_commit decides. A release waits
// at most one second for another transaction that has locked the row. No other statement waits for a transaction.
// docs/mysql.md says more, and what to run with several writers or behind a proxy.
//
// # SQLite
//
// A file has one writer at a time, so every other writer of the file delays grants, renewals and releases. Keep locks
// in a file of their own, in WAL mode, unless data and lock must change in one transaction. If another writer is
// active for a quarter of a second, an acquire answers that the lock is contended, because that writer may hold it in
// a transaction. The clock is the machine's. Tokens are as durable as PRAGMA synchronous says. Network file systems do
// not lock reliably.
//
// With a write-ahead log a release is not flushed: a release that is lost when the machine crashes costs one TTL. It
// reserves the lock for 50 ms for the process that has waited longest. Waiters of other processes detect the release
// because they watch the file.
//
// # Locks in a transaction
//
// [Backend.InTx] holds a lock until the caller's transaction ends. It uses the same names as leases. Work that is one
// transaction needs no lease.
package sqllock
