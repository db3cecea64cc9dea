// Package fence lets a database reject the writes of a holder that has lost its lock without knowing
// it. The check runs inside the transaction that writes.
//
// A lock with a lease can be lost unnoticed: the process is suspended, the network fails, a clock
// jumps. The holder's pending writes then arrive after a successor has begun. A fence rejects them. The
// data must be in PostgreSQL, MySQL, MariaDB or SQLite. The locks may come from any backend of package
// rowlock whose tokens rise, in the same database or elsewhere.
//
//	guard := fence.Postgres(db)
//	err := locker.Do(ctx, "nightly", func(ctx context.Context, lease *rowlock.Lease) error {
//		return guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
//			_, err := tx.ExecContext(ctx, …)
//			return err
//		})
//	}, rowlock.Fenced(guard))
//
// # Seal and check
//
// The fence table has one row for each resource, called its mark. A mark contains the token and the nonce
// of the lease that sealed the resource last.
//
// [Guard.Seal] raises the mark to the new lease's token. It runs once, after acquiring and before the
// first read. The option rowlock.Fenced calls it. Seal waits for the open transactions in which an older
// lease has checked the mark. When Seal returns, all writes of older holders are visible, and no
// further write of theirs can succeed.
//
// [Guard.Check] comes first in each transaction. It compares the mark with the lease's token and nonce,
// and locks the mark until the transaction ends. A newer holder's seal waits for that. A transaction that
// began too late finds a newer mark, and gets [ErrStale].
//
// Seal or check alone would lose an update. Without the check, a stale write is accepted after the
// successor's. Without the seal, the old holder's write is accepted between the successor's first read
// and its first write. What the successor then writes is based on an outdated value.
//
// [Guard.Tx] begins a transaction, checks, runs a function, and commits. It runs all of it again when the
// database rolls it back. In a transaction of your own, call [Guard.Check] or [Guard.CheckPgx], and
// treat [ErrRetry] like a serialization failure.
//
// Mark and lease are two rows, so an open checked transaction never delays the renewal of its own lease.
// Transactions of one holder do not exclude each other. SQLite has one writer for each file: there, keep
// the locks in a file of their own.
//
// # Lock and data in one database
//
// Two more methods are available if package sqllock keeps the lock in the same database and table as the
// marks. [Guard.CheckHeld] is a check that also asks the database whether the lease is alive now.
// [Guard.ReleaseOnCommit] releases the lease in the commit of the holder's last transaction.
//
// # Locks without a token
//
// Redlock and a plain GET_LOCK have no reliable token. [Guard.Claim] replaces the seal for them: the
// resource's own database generates the token. Use rowlock.Fenced(guard.Claimer()). Claim locks the mark,
// renews the lease while it has that lock, and only then raises the mark. If a holder has lost its lock and
// claims late, its own store rejects the renewal. If a holder is suspended after the renewal, it has the
// mark locked, so the successor's claim comes later.
//
// So claims have the same order as holds, as long as the store excludes. If the store grants a lock twice,
// both holders still get one order. The one that was overtaken gets [ErrStale], and no update is lost.
//
// # Without a seal
//
// With the option [Lazy], [Guard.Check] raises an older mark in the caller's transaction. It rejects stale
// writes at every isolation level, and does not cover reads. What a holder read before its first checked
// transaction may be out of date. At REPEATABLE READ, values read in that transaction may be out of date, too.
//
// # Isolation levels
//
// Seal and check together work at every isolation level. On Postgres these are READ COMMITTED, REPEATABLE
// READ and SERIALIZABLE. MySQL and MariaDB add READ UNCOMMITTED, with innodb_snapshot_isolation on or off.
// SQLite may use WAL mode or a rollback journal, and transactions may begin DEFERRED or IMMEDIATE. The tests
// of this package run each of these against a successor, in fixed orders of steps.
//
// Do not write the check by hand. The same tests show how these attempts fail:
//
//	check written by hand          Postgres                MySQL, MariaDB
//	SELECT token                   accepts a stale write   accepts a stale write
//	                               at every level          below SERIALIZABLE
//	SELECT … FOR KEY SHARE         the same                not supported
//	INSERT … WHERE EXISTS (…)      the same                below REPEATABLE READ
//	SELECT … FOR SHARE, no seal    the successor misses    the same
//	                               the last write (seen
//	                               at REPEATABLE READ)
//
// SERIALIZABLE does not help on Postgres: "the stale writer came first" is a legal serial order.
//
// # What to do about each error
//
//	ErrStale                  roll back and stop: another holder has sealed, or this lease has not
//	ErrOtherDomain            from a seal: stop until an operator has reset the mark
//	ErrReadOnly               roll back, and begin a transaction that can write, on the primary
//	rowlock.ErrLost           roll back and stop: the lease has ended
//	ErrRetry                  roll back, and run the whole transaction again
//	ErrUnknown                the commit got no answer and may have been applied (Guard.Tx only)
//	ErrUnchecked              a mistake: a write to a protected table without a check
//	ErrNoLease, *SchemaError  a mistake: ctx does not come from the lease; the migration is missing
//
// [Guard.Tx] returns nil only if the transaction was committed. Any error except [ErrUnknown] means that nothing was
// committed, also when the connection broke at the commit. To know this, each of its transactions writes its number
// into a row of the outcome table that no other transaction uses at that time. Reading that row in another session waits
// until the transaction in doubt has ended, and returns its number or an older one. This costs one statement a transaction.
//
// If your own commit fails with an error of the driver, the transaction may have been committed.
//
// # Protected tables
//
// A check protects the data only if every program that writes calls it. [Guard.Protect] adds triggers to a
// table. They reject writes without a check, by a program that forgot it or from a console, with [ErrUnchecked].
// They reject writes of a stale holder with [ErrStale]. [Guard.Explain] recognises these errors of a statement.
// [Guard.Tx] calls it for its function. [Guard.ProtectSQL] returns the statements for a migration.
//
// The triggers prevent mistakes, not attacks: a user that may read the fence table can imitate a check.
//
//	                     Postgres              MySQL, MariaDB           SQLite
//	rejects              each statement,       each row                 each row
//	                     also TRUNCATE
//	sees the check by    a setting of the      a variable of the        a row of
//	                     transaction           session, @rowlock_       rowlock_lease_fence_pass,
//	                                           nonces                   never committed
//	option Protected     not needed            needed                   needed
//	runs with rights of  the user that writes  the user that protects   -
//	administrators pass  SET LOCAL             INSERT INTO              INSERT INTO
//	with                 rowlock.pass = 'why'  rowlock_lease_fence_pass rowlock_lease_fence_pass
//	                                           VALUES (CONNECTION_ID(), (why) VALUES ('why')
//	                                           'why')
//	administrators are   the table's owner and users that may write     all users
//	                     members of that role  to that table
//
// Administrators delete their row before they commit.
//
// Where the option Protected is needed, call [Guard.Uncheck] as the last statement of a transaction of your
// own. If it is omitted, writes without a check are accepted until another lease seals. On MySQL and MariaDB
// that applies to the same session, and on SQLite to every process. Stale writes are never accepted. It makes
// no difference which of its resources a lease has checked.
//
// The triggers do not see these writes:
//
//   - On Postgres: a session with session_replication_role = replica, as in logical replication. A user may also
//     disable or drop the trigger, or write to a partition by its own name, unless the partition is protected as
//     well. The cascade of a foreign key is rejected like any other write.
//   - On MySQL and MariaDB: TRUNCATE and other DDL, the cascade of a foreign key, and what a replica applies with
//     row-based replication.
//   - On SQLite: a user that drops the triggers. A DELETE of all rows and the cascade of a foreign key fire them.
//
// On MySQL and MariaDB, the triggers work as long as the account that created them exists. That account needs SELECT on
// rowlock_lease_fence and rowlock_lease_fence_pass. If the binary log is on, the account also needs what the server
// requires to create triggers (log_bin_trust_function_creators).
//
// # How long a seal waits
//
// A seal waits only for the transactions that were already checked when its wait began. MySQL and MariaDB
// serve the locks on the mark in the order of the requests. Row locks of Postgres have no such order. So on
// Postgres a check also shares an advisory lock of its transaction. A seal, a sealed grant, [Guard.Claim] and
// [Guard.Reset] take that lock exclusively. A check that finds such a request waiting gets [ErrRetry] at once.
// This uses one entry of the server's lock table (max_locks_per_transaction) for each resource of a check.
//
// A checked transaction that never ends blocks every successor, because it may still commit. [Guard.Seal] waits
// no longer than ctx and the lease permit. The server can end such a transaction:
//
//   - On Postgres, a check limits how long the transaction may idle to the trust that the lease had left then.
//     After that time the server ends the session. It does not end a statement that is running.
//   - MySQL has wait_timeout and MariaDB idle_write_transaction_timeout, for a session only. Set these variables for
//     the pool, in whole seconds, not above the TTL.
//   - On SQLite, a process that dies releases the file. A suspended process does not.
//
// # Locks and marks in one database
//
// On Postgres and SQLite, a backend of package sqllock and a guard can seal in one step, if both were made with
// one database handle and one table. With rowlock.Fenced, the statement that grants the lock also raises its
// mark, and acquiring needs no further round trip. On SQLite, one transaction writes both lock and mark.
//
// In all other cases the guard seals after the grant. These are a guard with another handle, even to the same
// database, or with another [Table], and a wrapper around a guard. Guards of MySQL and MariaDB always do so: no
// statement there changes lock and mark with a limit on lock waits that the caller controls.
//
// On Postgres such a grant waits for the transactions that an older lease has checked, for half of the TTL
// or a few seconds at most. Meanwhile other processes cannot acquire the name. Other locks are not delayed. If
// the transactions do not end in time, nothing is granted or raised. A rowlock.ErrHeld then says that the name is
// unavailable until a transaction of an older holder ends, and Acquire retries. The TTL of the new lease is
// counted from the end of the wait. If a prune of the locks has deleted a name that still has a mark, the next
// grant seals in a second step, once.
//
// # What is not covered
//
//   - Data outside this database: files, other services, mail.
//   - Transactions that do not check, unless the table is protected. Reads that must be current also need a
//     checked transaction.
//   - Values that were read before the seal, or before the check in a transaction. If the database notices a
//     snapshot from before the seal, the error is an ErrRetry. On Postgres it is an ErrStale if the resource was
//     then sealed for the first time.
//   - A check that is undone by ROLLBACK TO a savepoint that was set before it.
//   - Writes after the end of the checked transaction, if the caller does not notice that end. On MySQL and
//     MariaDB a deadlock ends it, and so do statements that commit implicitly, such as CREATE TABLE and TRUNCATE.
//     On SQLite a full disk can end it. A protected table rejects such a write if it is stale.
//   - A branch of an XA transaction on MySQL and MariaDB: [Guard.Check] rejects it, because XA PREPARE or a
//     restart releases the lock on the mark. PREPARE TRANSACTION on Postgres keeps that lock, also over a restart.
//   - Durability that the database does not provide. A restored backup, or a failover that lost commits, loses
//     marks together with the data. Marks in a SQLite file are as durable as PRAGMA synchronous says.
//   - Locks of two stores, or of two lock tables, for one resource: their tokens are not comparable.
//   - Several primaries: on Galera and in replication groups, write on one node.
//
// # Operating
//
// [Guard.Marks] lists the marks. A mark exists for every resource that was ever sealed, until [Guard.Prune]
// deletes it. Prune deletes marks that were not sealed for a long time.
//
// Some marks can never be raised again. The lock may have moved to another store ([ErrOtherDomain]), or its
// store has lost its history and grants smaller tokens than before ([StaleError].Ahead). Seal then rejects every
// holder, until an operator resets the mark with [Guard.Reset]. The operator must know that no process works
// under the old lock.
//
// After a backup of the data was restored, a mark from the backup would accept the holder of that time.
// [Guard.ResetAll] rejects that holder. The command has the same operations: rowlock fence ls, reset and prune.
//
// # A token column
//
// A table whose rows store the token of their newest writer needs neither the fence table nor a seal.
// [Guard.CheckRow] locks one row, compares its token, and raises it. It covers that row, and data that is read
// and written only after its check. docs/fencing.md says when to use which.
//
// # Setting up
//
// Package migrations creates the tables, and its documentation lists the privileges. The names of the tables
// follow that of the lease table ([Table]). The outcome table has about as many rows as transactions of
// [Guard.Tx] have run at once.
//
//   - With go-sql-driver/mysql, set readTimeout in the DSN. Its commit and rollback ignore ctx while they wait for
//     the server, and use their connection for as long.
//   - On MySQL, Seal does not work with binlog_format=STATEMENT, because Seal uses READ COMMITTED.
//   - Through PgBouncer before 1.21, use pgx with default_query_exec_mode=exec.
package fence
