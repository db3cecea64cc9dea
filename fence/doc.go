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
// [Guard.Seal], once after acquiring and before the first read (the option rowlock.Fenced calls it),
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
//	rowlock.ErrLost           roll back, stop: the lease has ended
//	ErrRetry                  roll back, run the whole transaction again
//	ErrUnchecked              a mistake: a write to a protected table without a check
//	ErrNoLease, *SchemaError  a mistake: ctx is not the lease's; the migration is missing
//
// An error of the commit itself that is none of these leaves open whether it was committed.
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
// A transaction that was checked and never ends keeps every successor waiting, as it should: it may
// still commit. [Guard.Seal] waits no longer than ctx and the lease permit. On Postgres, a check
// lets the server end the session when the transaction idles for longer than the lease was trusted
// at that moment; a statement that runs is let run. MySQL has wait_timeout and MariaDB
// idle_write_transaction_timeout, for a session only: set them for the pool, in whole seconds, not
// above the TTL. On SQLite a process that dies lets go of the file; one that is stopped does not.
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
//   - Durability that the database does not give: a restored backup or a failover that lost commits
//     forgets marks with the data. Marks on a SQLite file are as durable as PRAGMA synchronous says.
//   - Locks of two stores, or of two lock tables, for one resource: their tokens are not comparable.
//   - Several primaries: on Galera and in replication groups, write on one node.
//
// # Setting up
//
// The table comes from package migrations, which also says which privileges are needed; its name
// follows that of the lease table ([Table]). Rows are kept for ever: an unbounded number of resources
// is a growing table. On MySQL, binlog_format=STATEMENT and Seal, which works at READ COMMITTED,
// exclude each other. Through PgBouncer before 1.21, use pgx with default_query_exec_mode=exec.
package fence
