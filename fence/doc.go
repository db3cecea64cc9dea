// Package fence lets a database reject the writes of a holder that has lost its lock without knowing
// it. The check runs inside the transaction that writes.
//
// A holder can lose its lease without noticing, for example because its process is suspended, the network fails or a
// clock jumps. Its pending writes then arrive after a successor has begun to work. A fence rejects these writes.
// The data must be in PostgreSQL, MySQL, MariaDB or SQLite. The locks may be in the same database or elsewhere,
// in any backend of package rowlock whose tokens rise.
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
// A resource is the data that a lock protects. It has a name, by default the lock's name. The fence table has one row
// for each resource, called the resource's mark. A mark contains the token and the nonce (a random number) of the lease
// that sealed the resource last.
//
// [Guard.Seal] raises the mark to the token of a new lease. Seal runs once for each lease, after acquiring the lock and
// before the first read. The option rowlock.Fenced does this for you. Seal waits for the open transactions in which an
// older lease has checked the mark. When Seal returns, all committed writes of older holders are visible. From then on,
// the checks of older holders fail.
//
// [Guard.Check] must be the first statement of each transaction. It compares the mark with the lease's token and nonce,
// and locks the mark until the transaction ends. A newer holder's seal waits for the end of that transaction.
// If a newer holder has already sealed, Check finds a newer mark and returns [ErrStale].
//
// You need the seal and the check. A seal without checks, or a check without seals, would lose updates.
// Without the check, the database accepts a stale write after a write of the successor. Without the seal,
// it accepts a write of the old holder between the successor's first read and its first write. The successor's write is
// then based on an outdated value.
//
// [Guard.Tx] begins a transaction, checks, runs a function, and commits. If the database rolls the transaction back,
// Tx runs it again from the beginning. In a transaction of your own, call [Guard.Check] or [Guard.CheckPgx],
// and treat [ErrRetry] like a serialization failure.
//
// The mark and the lease are two different rows, so an open checked transaction never delays the renewal of its own
// lease. Transactions of one holder do not exclude each other. SQLite is different, because a file has only one writer
// at a time: keep the locks in another file than the data.
//
// # Lock and data in one database
//
// Two more methods are available if package sqllock keeps the lock in the guard's database, in the lease table that the
// guard's option [Table] names. [Guard.CheckHeld] does what Check does, and also verifies in the lease table that the
// lease has not ended. [Guard.ReleaseOnCommit] runs the holder's last transaction, and its commit also releases the
// lease.
//
// # Locks without a token
//
// Redlock and a plain GET_LOCK have no reliable token. With such locks, use [Guard.Claim] instead of the seal:
// the database of the resource then generates the token. The option for that is rowlock.Fenced(guard.Claimer()).
// Claim locks the mark, renews the lease while the mark is locked, and only then raises the mark.
// If a holder has lost its lock and claims late, the lock's store rejects the renewal. If a holder is suspended after
// the renewal, the mark stays locked, so its successor claims after it.
//
// So holders claim in the order in which they held the lock, as long as the store grants the lock to one holder at a
// time. If the store grants the lock to two holders at the same time, one of them claims last. The other holder then
// gets [ErrStale], and no update is lost.
//
// # Without a seal
//
// With the option [Lazy], no seal is needed: [Guard.Check] itself raises an older mark, in the caller's transaction.
// Such a guard rejects stale writes at every isolation level, but does not protect reads. What a holder read before its
// first checked transaction may be out of date. At REPEATABLE READ, values read in that transaction may be out of date,
// too.
//
// # Isolation levels
//
// Seal and check together work at every isolation level. On Postgres these are READ COMMITTED, REPEATABLE READ and
// SERIALIZABLE. On MySQL and MariaDB, READ UNCOMMITTED is a fourth level, and innodb_snapshot_isolation may be on or
// off. SQLite may use WAL mode or a rollback journal, and transactions may begin DEFERRED or IMMEDIATE.
// For each of these, the tests of this package run an old holder and its successor in fixed orders of steps.
//
// Do not write the check by hand. The same tests show how the following handwritten checks fail:
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
// SERIALIZABLE does not help on Postgres: an order in which the stale writer comes first is a legal serial order.
//
// # What to do about each error
//
//	ErrStale                  roll back and stop: another lease has sealed, or this lease never has
//	ErrOtherDomain            from a seal: stop until an operator has reset the mark
//	ErrReadOnly               roll back, and begin a transaction that can write, on the primary
//	rowlock.ErrLost           roll back and stop: the lease has ended
//	ErrRetry                  roll back, and run the whole transaction again
//	ErrUnknown                the commit got no answer and may have been applied (Guard.Tx only)
//	ErrUnchecked              a mistake: a write to a protected table without a check
//	ErrNoLease, *SchemaError  a mistake: ctx does not come from the lease; the migration is missing
//
// [Guard.Tx] returns nil only if the transaction was committed. Any error except [ErrUnknown] means that nothing was
// committed, even if the connection broke at the commit. To find out the outcome of a commit without a reply, each
// transaction of Tx writes a number into a row of the outcome table. No other open transaction uses that row. If the
// commit gets no reply, Tx reads the row in another session. The read waits until the transaction has ended. It returns
// the transaction's number if the transaction was committed, and otherwise an older number. Writing the number costs
// one statement in each transaction.
//
// If you commit a transaction yourself and the commit fails with an error of the driver, the transaction may have been
// committed.
//
// # Protected tables
//
// A check protects the data only if every program that writes calls it. [Guard.Protect] adds triggers to a table.
// The triggers reject a write in a transaction without a check, for example from a console or from a program that
// forgot the check. They also reject a write of a stale holder. [Guard.Explain] turns the database's error into an
// [ErrUnchecked] or an [ErrStale]. [Guard.Tx] calls Explain for the errors of its function. [Guard.ProtectSQL] returns
// the statements that create the triggers, for a migration.
//
// The triggers prevent mistakes, not attacks: a user that may read the fence table can imitate a check.
//
//	                     Postgres              MySQL, MariaDB           SQLite
//	rejects              each statement,       each row                 each row
//	                     also TRUNCATE
//	check is recorded in a setting of the      a variable of the        a row of
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
// On MySQL, MariaDB and SQLite, an administrator inserts a row to write without a check, and has to delete this row
// before the commit.
//
// On MySQL, MariaDB and SQLite the guard needs the option [Protected]. If you begin a transaction there yourself, call
// [Guard.Uncheck] as its last statement. Without that call, the triggers accept later writes without a check until
// another lease seals. On MySQL and MariaDB they accept such writes in the same session, and on SQLite from every
// process. The triggers never accept a stale write. A lease may write to the table if it sealed the table's resource
// last, and if the transaction has checked this lease. The check may have been for another resource.
//
// The triggers do not see these writes:
//
//   - On Postgres: writes of a session with session_replication_role = replica, as in logical replication.
//     Writes after a user has disabled or dropped the trigger. Writes to a partition under its own name,
//     unless the partition is protected as well. The triggers do see the cascade of a foreign key.
//   - On MySQL and MariaDB: TRUNCATE and other DDL, the cascade of a foreign key, and changes that a replica applies
//     from row-based replication.
//   - On SQLite: writes after a user has dropped the triggers. The triggers do see a DELETE of all rows and the cascade
//     of a foreign key.
//
// On MySQL and MariaDB, the triggers work as long as the account that created them exists. That account needs SELECT on
// rowlock_lease_fence and rowlock_lease_fence_pass. If the binary log is on, the server may require a further privilege
// for creating triggers (see log_bin_trust_function_creators).
//
// # How long a seal waits
//
// A seal waits only for transactions that were checked before its wait began. MySQL and MariaDB grant the row locks on
// a mark in the order of the requests. Postgres does not, so a later check could delay a waiting seal.
// Therefore a check on Postgres also takes an advisory lock in shared mode, until its transaction ends. A seal,
// a grant that seals, [Guard.Claim] and [Guard.Reset] take this lock in exclusive mode. While one of them waits,
// a later check fails at once with [ErrRetry]. Each resource of a check uses one entry of the server's lock table
// (max_locks_per_transaction).
//
// A checked transaction that never ends blocks every successor, because it may still commit. [Guard.Seal] stops waiting
// when ctx ends or when the lease is no longer trusted. The server can end the old transaction:
//
//   - On Postgres, a check limits how long the transaction may idle between two statements. The limit is the time for
//     which the lease is still trusted at the check. If the transaction idles longer, the server ends
//     its session. A statement that runs is not idle, so the server lets it finish.
//   - MySQL has the variable wait_timeout, and MariaDB has idle_write_transaction_timeout. They apply to a whole
//     session, so set them for all connections of the pool. Use whole seconds, and at most the TTL.
//   - On SQLite, a process that dies releases its lock on the file. A suspended process keeps that lock.
//
// # Locks and marks in one database
//
// On Postgres and SQLite, a backend of package sqllock can grant a lock and seal it in one step. This requires that the
// backend and the guard were made with the same database handle and the same [Table]. With rowlock.Fenced, the
// statement that grants the lock then also raises its mark, and acquiring needs no further round trip. On SQLite, one
// transaction writes both lock and mark.
//
// In all other cases the guard seals in a second step after the grant. The other cases are: a guard with another
// database handle (even if both handles reach the same database), a guard with another [Table], a Sealer that wraps a
// guard, and all guards of MySQL and MariaDB. On MySQL and MariaDB, a statement that changes both the lock and the mark
// could wait for a lock on the mark for longer than the caller permits.
//
// On Postgres a grant that seals waits for the open transactions that an older lease has checked, for half of the TTL
// or a few seconds at most. Meanwhile other processes cannot acquire the name. Other locks are not delayed. If the
// transactions do not end in time, the lock is not granted and the mark is not raised. The error is then a
// rowlock.ErrHeld. It says that the name is unavailable until a transaction of an older holder ends, and Acquire
// retries. The TTL of the new lease is counted from the end of the wait. If sqllock has pruned a lock whose mark still
// exists, the next grant of that lock seals in a second step. Later grants of the lock seal in one step again.
//
// # What is not covered
//
//   - Data outside this database: files, other services, mail.
//   - Transactions that do not check, unless the table is protected. Reads that must be current also need a
//     checked transaction.
//   - Values that were read before the seal, or before the check in a transaction. If the database notices that the
//     transaction's snapshot is older than the seal, the error is an ErrRetry. On Postgres the error is an ErrStale if
//     that seal was the first one of the resource.
//   - A check that the caller undoes: ROLLBACK TO a savepoint from before the check also undoes the check.
//   - Writes after the end of the checked transaction, if the caller does not notice that end. On MySQL and MariaDB a
//     deadlock ends the transaction, and so do statements that commit implicitly, such as CREATE TABLE and TRUNCATE.
//     On SQLite a full disk can end the transaction. If such a later write is stale, a protected table rejects it.
//   - A branch of an XA transaction on MySQL and MariaDB: [Guard.Check] rejects it, because XA PREPARE or a restart
//     releases the lock on the mark. PREPARE TRANSACTION on Postgres keeps that lock, even if the server restarts.
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
// It can happen that no lease can raise a mark any longer. Either the lock was moved to another store
// ([ErrOtherDomain]), or the lock's store has lost its data and grants smaller tokens than before ([StaleError].Ahead).
// Seal then rejects every holder, until an operator resets the mark with [Guard.Reset]. Before the reset, the operator
// must make sure that no process works under the old lock.
//
// After you have restored a backup of the data, Check would accept the holder that had sealed last before the backup
// was made. Call [Guard.ResetAll] to make the fence reject that holder. The command rowlock has the same operations:
// rowlock fence ls, rowlock fence reset and rowlock fence prune.
//
// # A token column
//
// A table whose rows store the token of their newest writer needs neither the fence table nor a seal.
// [Guard.CheckRow] locks one row, compares its token with the lease's token, and raises it. It protects that row. It
// also protects other data, if every transaction calls CheckRow for that row before it reads or writes the data. When
// to use which: see docs/fencing.md.
//
// # Setting up
//
// Package migrations creates the tables, and its documentation lists the privileges. The names of the tables begin with
// the name of the lease table ([Table]). The number of rows in the outcome table is about the largest number of
// transactions of [Guard.Tx] that were open at the same time.
//
//   - With go-sql-driver/mysql, set readTimeout in the DSN. The driver's commit and rollback ignore ctx while they wait
//     for the server, and keep their connection until the server replies.
//   - On MySQL, Seal does not work with binlog_format=STATEMENT, because Seal uses READ COMMITTED.
//   - Through PgBouncer before 1.21, use pgx with default_query_exec_mode=exec.
package fence
