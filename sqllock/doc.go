// Package sqllock stores locks as lease rows in a SQL database: PostgreSQL 12 or newer, MySQL 8.0 and MariaDB 10.6 or
// newer, SQLite 3.35 or newer. It is a backend for package rowlock:
//
//	locker, err := rowlock.New(sqllock.Postgres(db))
//
// Locks use the application's connection pool. If every connection of the pool is in use, renewals and releases do not
// wait: the backend opens one additional connection for them, with the pool's settings, and closes it soon afterwards.
// docs/postgres.md and docs/mysql.md say how large a pool should be.
//
// Package migrations creates the tables; this package creates nothing at run time. If a table is missing or outdated,
// calls fail with a [SchemaError].
//
// # How it works
//
// Each lock has one row, which contains the holder, the time of the grant, the time when the lease expires, and the
// token. All times come from the database's clock. An acquire is one statement. It grants the lock if it is free, and
// otherwise returns the holder without writing anything. A renewal is one statement for any number of leases. A
// release is one statement, and keeps the row, because the next token must be larger. No statement needs a
// transaction around it, so a pooler in transaction mode works.
//
// MySQL and MariaDB need a second statement to report the holder, because no MySQL statement both changes and returns a
// row. Each later attempt of a waiter is one statement while the lock is held. The meta table has one row, which
// identifies the server. If the backend has not read that row for ten seconds, a grant takes two statements. SQLite has
// no network round trips, so its backend uses two small statements where that is faster.
//
// A token is the largest of three numbers: the lock's last token plus one, a stored floor plus one, and the database's
// clock in microseconds. Prune raises the floor to at least the largest token that it deletes. So tokens rise even
// after a release, an expiry, Prune, a restored backup, or a failover that lost the last grants. For a failover there
// is one condition: the new server's clock must not lag behind the old server's clock by more than the duration of the
// failover.
//
// After a failover to another database server, leases that the previous server granted may still be valid. Therefore
// the new server grants no lock until the longest lease that was ever granted would have ended. A Postgres server is
// identified by its system identifier and timeline, a MySQL server by server_uuid, and a MariaDB server by server_id,
// hostname and port. A restart alone does not delay grants.
//
// # Postgres
//
// Grants and renewals are durable even if sessions commit asynchronously. Releases are not durable: a release that is
// lost in a crash delays the next grant by at most one TTL. With synchronous replication, do not cancel a server
// process that waits for its standby. The client would then receive a grant that only the primary has stored.
//
// Waiters are notified. Each waiting process has a row in the table of waiters. One connection of the pool listens
// while a backend has waiters, and for five seconds afterwards. The statement of a release also reserves the lock for
// 50 ms for the process that has waited longest, and notifies that process. There is one exception. The process that
// has waited longest may have stored a request in its row. If the releasing process also waits for the lock, or did so
// a moment ago, the release grants this request directly. A release without a waiter sends no notification. Any role
// can send a notification, so a waiter treats it as a hint and verifies the row of the lock. If a notification is lost,
// the waiter finds the lock with its next poll.
//
// The backend does not listen through a pooler, with a driver other than pgx, or on a database/sql pool that is
// limited to one connection. In these cases waiters poll, and Capabilities reports that waiters are not notified.
//
// With rowlock.Fenced and a guard on the same handle and table, the statement that grants the lock also raises the
// fence mark. The statement first waits for the transactions of older holders: see package fence. Without a guard, an
// acquire ignores fence marks.
//
// Any default isolation level works, except for the transactions that you pass to InTx. A call retries serialization
// failures until its context's deadline is near. READ COMMITTED causes no serialization failures.
//
// [Pgx], and [Postgres] with pgx's driver, detect a pooler that mixes up prepared statements (PgBouncer before 1.21),
// and then stop preparing statements. With such a pooler, set default_query_exec_mode=exec for your own statements,
// including the transactions that you pass to InTx.
//
// # MySQL and MariaDB
//
// The lock's row contains a queue of the waiting processes, in order of arrival. A release reserves the lock for the
// first of these processes for 50 ms, and wakes it. During that time, other processes are refused. A process that waits
// keeps one connection in addition to the pool, which sleeps in a statement, and a release ends that statement with
// KILL QUERY. For that, all processes must connect as the same database user, or have the privilege CONNECTION_ADMIN.
// If the first process does not come, the process that has released wakes the next ones. Waiters also poll, every 12 to
// 20 seconds, in case that they were not woken.
//
// A release is as durable as every other commit: the server's innodb_flush_log_at_trx_commit decides. A release waits
// at most one second for another transaction that has locked the row. A renewal, and an acquire of a lock that has a
// row, wait for no other transaction. The first acquire of a name may wait for a transaction that has locked a range
// of rows, until its context ends. docs/mysql.md has more details, and describes setups with several writers or a
// proxy.
//
// # SQLite
//
// A file has one writer at a time, so every other writer of the file delays grants, renewals and releases. Keep locks
// in a separate file, in WAL mode, unless data and lock must change in one transaction. If another writer is active
// for a quarter of a second, an acquire is refused as contended, because that writer may hold the lock in its
// transaction. Times come from the machine's clock. PRAGMA synchronous decides how durable tokens are. Do not use a
// network file system, because its file locks are not reliable.
//
// With a write-ahead log, a release is not flushed: if it is lost because the machine crashes, the lock becomes free
// after one TTL. A release reserves the lock for 50 ms for the process that has waited longest. Waiters of other
// processes detect the release because they watch the file.
//
// # Locks in a transaction
//
// [Backend.InTx] holds a lock until the caller's transaction ends. A lease and a transaction that use the same name
// exclude each other. If all your work is in one transaction, use InTx instead of a lease.
package sqllock
