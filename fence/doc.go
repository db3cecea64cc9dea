// Package fence lets a database refuse the writes of a holder that has lost its lock without
// knowing it, inside the transaction that writes.
//
// A lock with a lease can be lost unnoticed: the process is paused, the network is cut, a clock
// jumps. What it had under way is then written after a successor has begun. A fence makes that
// harmless, for data in PostgreSQL, MySQL, MariaDB or SQLite; the locks may come from any backend of
// package rowlock whose tokens rise, in the same database or elsewhere.
//
//	guard := fence.Postgres(db)
//	err := locker.Do(ctx, "nightly", func(ctx context.Context, lease *rowlock.Lease) error {
//		return guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
//			_, err := tx.ExecContext(ctx, …)
//			return err
//		})
//	}, rowlock.Fenced(guard))
//
// # Two halves
//
// The fence table has one row a resource, its mark: token and nonce of the lease that sealed last.
//
// [Guard.Seal], once after acquiring and before the first read (the option rowlock.Fenced sees to it),
// raises the mark to the new lease's token. It waits for the transactions in which an older lease has
// checked the mark. When it returns, all that older holders did can be seen, and nothing of theirs can
// follow.
//
// [Guard.Check], first in each transaction, compares the mark with the lease's token and nonce, and
// locks it until the transaction ends. A newer holder's seal waits for that. A transaction that began
// too late finds the mark raised, and gets [ErrStale].
//
// Each half alone loses an update. Without the check, a stale write lands after the successor's.
// Without the seal, the old holder's write is accepted between the successor's first read and its
// first write, and what the successor then writes is computed from what it read before.
//
// [Guard.Tx] begins, checks, runs a function, commits, and runs all of it again when the database
// asks for that. With a transaction of your own, call [Guard.Check] or [Guard.CheckPgx] in it and
// treat [ErrRetry] as you treat a serialization failure.
//
// Mark and lease are two rows: an open transaction that has checked never delays the renewal of its
// own lease. Transactions of one holder do not exclude each other. SQLite has one writer a file: there,
// keep the locks in a file of their own.
//
// # Lock and data in one database
//
// Where package sqllock keeps the lock in the same database and table as the marks,
// [Guard.CheckHeld] is a check that also asks the database whether the lease is alive now, and
// [Guard.ReleaseOnCommit] ends the lease in the commit of its last transaction.
//
// # Locks without a token
//
// Redlock and a plain GET_LOCK have no token to rely on. [Guard.Claim] is the seal for them: the resource's
// own database makes the token. Use rowlock.Fenced(guard.Claims()). It locks the mark, renews the lease under
// that lock, and only then raises the mark. A holder that lost its lock and comes late is refused by its
// own store; one that was stopped after the renewal has the mark locked, so that its successor comes
// after it. So the claims have the order of the holds as far as the store excludes. Where it grants a lock
// twice, both holders are put into one order, the one that was overtaken gets [ErrStale], and no
// update is lost.
//
// # Without a seal
//
// The option [Lazy] lets [Guard.Check] raise an older mark in the caller's transaction. It keeps stale
// writes out at every isolation level, and does not cover reads: what a holder read before its first
// checked transaction may be out of date, and at REPEATABLE READ also what it reads in that transaction.
//
// # Isolation levels
//
// The pair holds at every isolation level: READ COMMITTED, REPEATABLE READ and SERIALIZABLE on
// Postgres; those and READ UNCOMMITTED on MySQL and MariaDB, there with innodb_snapshot_isolation on
// or off; SQLite in WAL mode or with a rollback journal, begun DEFERRED or IMMEDIATE. The tests of
// this package run each of them against a successor, in fixed orders of steps. The same tests show
// that these do not hold, and why not to write the check by hand:
//
//	check written by hand          Postgres                MySQL, MariaDB
//	SELECT token                   lets a stale write      lets a stale write through
//	                               through at every level  below SERIALIZABLE
//	SELECT … FOR KEY SHARE         the same                no such thing
//	INSERT … WHERE EXISTS (…)      the same                below REPEATABLE READ
//	SELECT … FOR SHARE, no seal    the successor misses    the same
//	                               the last write (seen
//	                               at REPEATABLE READ)
//
// SERIALIZABLE does not help on Postgres: "the stale writer came first" is a legal serial order.
//
// # Which errors end the work
//
//	ErrStale                  roll back, stop: another holder has sealed, or this lease has not
//	ErrOtherDomain            of a seal: stop, until an operator has reset the mark
//	ErrReadOnly               roll back, begin a transaction that writes, on the primary
//	rowlock.ErrLost           roll back, stop: the lease has ended
//	ErrRetry                  roll back, run the whole transaction again
//	ErrUnknown                the commit got no answer: it may have been applied (Guard.Tx only)
//	ErrUnchecked              a mistake: a write to a protected table without a check
//	ErrNoLease, *SchemaError  a mistake: ctx is not the lease's; the migration is missing
//
// [Guard.Tx] returns nil only if the transaction was committed. Any error except [ErrUnknown] means that nothing was
// committed, also when the connection broke at the commit. To know this, each of its transactions writes its number
// into a row of the outcome table that no other transaction uses at that time. Reading that row in another session waits
// until the transaction in doubt has ended, and returns its number or an older one. This costs one statement a transaction.
//
// Of a commit of your own, an error of the driver leaves open whether it was committed.
//
// # Protected tables
//
// A check is worth what the programs that write do with it. [Guard.Protect] puts triggers on a table
// that refuse every write in a transaction that has passed no check, of a program that forgot it or
// of a console, as [ErrUnchecked], and those of a stale holder as [ErrStale]. [Guard.Explain] reads
// that from the error of a statement; [Guard.Tx] does it for its function. [Guard.ProtectSQL] has the
// statements for a migration. This keeps mistakes out, not malice: who may read the fence table can
// show a trigger what it wants to see.
//
//	                     Postgres              MySQL, MariaDB           SQLite
//	refuses              each statement,       each row                 each row
//	                     TRUNCATE too
//	sees the check by    a setting of the      a variable of the        a row of
//	                     transaction           session, @rowlock_       rowlock_lease_fence_pass,
//	                                           nonces                   never committed
//	option Protected     not needed            needed                   needed
//	runs with rights of  whoever writes        whoever protects         -
//	administrators       SET LOCAL             INSERT INTO              INSERT INTO
//	                     rowlock.pass = 'why'  rowlock_lease_fence_pass rowlock_lease_fence_pass
//	                                           VALUES (CONNECTION_ID(), (why) VALUES ('why')
//	                                           'why')
//	who are              the table's owner,    who may write            everybody
//	                     members of that role  to that table
//
// An administrator's row is deleted before his commit. With a transaction of your own, where the
// option is needed, [Guard.Uncheck] is the last statement: what was not cleared lets writes without a
// check pass, of that session on MySQL and MariaDB and of everybody on SQLite, until somebody else
// seals; never a stale one. Which of its resources a lease has checked makes no difference.
//
// Past the triggers goes:
//
//   - On Postgres: a session with session_replication_role = replica, as logical replication has;
//     whoever disables or drops the trigger; a write to a partition by its own name, unless the
//     partition is protected as well. A foreign key's cascade is refused like any write.
//   - On MySQL and MariaDB: TRUNCATE and other DDL, a foreign key's cascade, what a replica applies
//     with row-based replication. The triggers work as long as the account exists that created them,
//     which needs SELECT on rowlock_lease_fence and rowlock_lease_fence_pass and, where the binary log
//     is on, what the server asks of those who create triggers (log_bin_trust_function_creators).
//   - On SQLite: whoever drops the triggers. A DELETE of all rows and a foreign key's cascade fire them.
//
// # How long a seal waits
//
// A seal waits for the transactions that had been checked when it began to wait, and for no later one. MySQL and MariaDB serve the locks
// on the mark in the order of the requests. On Postgres, row locks do not: so a check shares an advisory lock of its transaction, which a seal,
// a sealed grant, [Guard.Claim] and [Guard.Reset] take exclusively. A check that finds such a request waiting gets [ErrRetry] at once. That is one entry in the
// server's lock table (max_locks_per_transaction) for each resource of a check.
//
// A transaction that was checked and never ends keeps every successor waiting, as it should: it may
// still commit. [Guard.Seal] waits no longer than ctx and the lease permit. On Postgres, a check
// lets the server end the session when the transaction idles for longer than the lease was trusted
// at that moment; a statement that runs is let run. MySQL has wait_timeout and MariaDB
// idle_write_transaction_timeout, for a session only: set them for the pool, in whole seconds, not
// above the TTL. On SQLite a process that dies lets go of the file; one that is stopped does not.
//
// # Locks and marks in one database
//
// A backend of package sqllock and a guard that were made with one database handle and one table seal in
// one step: with rowlock.Fenced, the statement that grants the lock raises its mark as well, and acquiring
// costs no further round trip. So it is on Postgres, and on SQLite, where lock and mark are written in one
// transaction. A guard with another handle, even to the same database, another [Table], or a wrapper
// around a guard seals by itself after the grant, as guards of MySQL and MariaDB always do: no statement
// there changes lock and mark without waiting for locks as the server, and not the caller, sees fit.
//
// On Postgres such a grant waits for the transactions that an older lease has checked, for half of the
// TTL or a few seconds at most. Meanwhile the name is contended for others, and no other lock is delayed.
// If the wait was in vain, nothing has been granted or raised; the rowlock.ErrHeld says that the name is
// closed until a transaction of an older holder ends, and Acquire asks again. The new lease is counted from
// the end of the wait. A name that has a mark and was forgotten by a prune of the locks is sealed in a
// second step, once.
//
// # What is not covered
//
//   - Data outside of this database: files, other services, mail.
//   - Transactions that do not check, unless the table is protected. Reads that must be current need
//     a checked transaction, too.
//   - What was read before the seal, or before the check in a transaction. Where a snapshot from
//     before the seal is noticed, it is an ErrRetry; on Postgres, if the resource was then sealed for
//     the first time, an ErrStale.
//   - A check that is undone by ROLLBACK TO a savepoint that was set before it.
//   - What is written behind the end of the transaction that was checked, if the caller does not notice that
//     end: on MySQL and MariaDB a deadlock ends it, and so do the statements that commit by themselves, such as
//     CREATE TABLE and TRUNCATE; on SQLite a full disk can. A protected table refuses it if it is stale.
//   - A branch of an XA transaction on MySQL and MariaDB: [Guard.Check] refuses it, because XA PREPARE or a restart gives up the lock on the
//     mark. PREPARE TRANSACTION on Postgres keeps that lock, also over a restart.
//   - Durability that the database does not give: a restored backup or a failover that lost commits
//     forgets marks with the data. Marks on a SQLite file are as durable as PRAGMA synchronous says.
//   - Locks of two stores, or of two lock tables, for one resource: their tokens are not comparable.
//   - Several primaries: on Galera and in replication groups, write on one node.
//
// # Operating
//
// [Guard.Marks] lists the marks, and [Guard.Prune] forgets those that were not sealed for a long time:
// a row stays for every resource that was ever sealed until then.
//
// Some marks can never be raised again: the lock moved to another store ([ErrOtherDomain]), or its store
// lost its history and grants smaller tokens than before ([StaleError].Ahead). Seal then refuses
// every holder, until an operator who knows that nobody works under the old lock gives the resource
// to the next one: [Guard.Reset]. After a backup of the data was restored, [Guard.ResetAll] keeps
// out a holder of the time of the backup, whose mark has come back with it. The command has the
// same: rowlock fence ls, reset and prune.
//
// # A token column
//
// A table whose rows keep the token of their newest writer needs neither the fence table nor a seal:
// [Guard.CheckRow] locks one row, compares and raises its token. It covers that row, and what is only
// ever read and written behind its check. docs/fencing.md says when to take which.
//
// # Setting up
//
// The tables come from package migrations, which also says which privileges are needed; their names
// follow that of the lease table ([Table]). The outcome table has about as many rows as there were
// transactions of [Guard.Tx] at the same time. With go-sql-driver/mysql, set readTimeout in the
// DSN: its commit and rollback wait for the server without regard to ctx, and keep their connection for as long. On MySQL,
// binlog_format=STATEMENT and Seal, which works at READ COMMITTED, exclude each other. Through
// PgBouncer before 1.21, use pgx with default_query_exec_mode=exec.
package fence
