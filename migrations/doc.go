// Package migrations creates and updates the tables of packages sqllock, fence, advisory and mysqlock.
// No other package of this module creates tables: the locks and the fence create none at run time.
//
// There are three ways to apply the migrations. [Up] brings the tables to the newest version. Every process may call Up
// when it starts, even if many start at the same time. [FS] returns the migrations as files for goose: for a provider,
// or for your own folder of migrations. [SQL] returns the migrations as one plain script for any other tool.
// All three accept the option [Table], which sets the name of the lease table like sqllock.Table.
//
// # The tables
//
// The migration files document every column. A migration has the same number on all databases. SQLite has no migration
// 00003.
//
//	00001_lease  rowlock_lease             a row for each name that was ever locked; a release keeps it, because the next token must be larger
//	             rowlock_lease_meta        one row: the floor of all tokens, the server that grants, and its quarantine
//	             rowlock_lease_same_epoch  whether this server is the one that granted last (PostgreSQL)
//	             rowlock_lease_waiter      the processes that wait; may be emptied at any time (PostgreSQL and SQLite)
//	00002_fence  rowlock_lease_fence       a row for each resource that package fence protects: the token of the newest holder
//	             rowlock_lease_outcome     what became of the transactions of package fence
//	             rowlock_lease_fence_check the function of the triggers that protect tables (PostgreSQL)
//	             rowlock_lease_fence_pass  the writers that those triggers let pass (MySQL and SQLite)
//	00003_token  rowlock_lease_token       the sequence of package advisory's tokens (PostgreSQL)
//	             rowlock_lease_mint        the row from which package mysqlock makes tokens (MySQL and MariaDB)
//	             rowlock_lease_counter     the last grants of package mysqlock (MySQL and MariaDB)
//	00004_run    rowlock_lease_run         the history of "rowlock run"; no lock depends on it
//
// The option [Functions] selects a second series of migrations for Postgres and MySQL, which you can leave out. It
// creates the functions by which a SQL session uses the locks without a Go program, and the view rowlock_lease_locks. On
// MySQL and MariaDB they are procedures, with _begin in place of _lock_in_tx, and without _nonce:
//
//	00101_locks  rowlock_lease_try_acquire, _acquire, _renew, _release, _lock_in_tx, _leave, _nonce and the view _locks
//	00102_fence  rowlock_lease_seal and _check
//
// Package sqllock needs only the first migration. In the table rowlock_lease_version, goose records the migrations that
// were applied. The applied migrations of the functions are in rowlock_lease_version_fn.
//
// # Privileges
//
// The role that runs the migrations owns the tables. The programs that acquire locks need fewer privileges.
// On Postgres, these privileges are enough for every method of the lease backend except Prune:
//
//	GRANT USAGE ON SCHEMA ops TO app; -- if the tables are in a schema of their own
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_waiter TO app;
//	GRANT SELECT, UPDATE (epoch, quarantined_until, longest_ttl_us) ON rowlock_lease_meta TO app;
//
// Prune also needs:
//
//	GRANT DELETE ON rowlock_lease TO app;
//	GRANT UPDATE (floor) ON rowlock_lease_meta TO app;
//
// Package fence needs these privileges in the database that contains its own tables. The locks may be in another
// database:
//
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_outcome TO app; -- for Tx and TxPgx
//
// A guard's Reset needs no other privilege. A guard's Prune also needs:
//
//	GRANT DELETE ON rowlock_lease_fence TO app;
//	GRANT DELETE ON rowlock_lease_outcome TO app;
//	GRANT SELECT ON rowlock_lease TO app;
//
// A program may check or release its lease within the transactions that write its data. The user of these transactions
// may differ from the user that acquires the lock. For CheckHeld the user of the transactions needs the first of these
// privileges. For ReleaseOnCommit that user needs all of them:
//
//	GRANT SELECT ON rowlock_lease TO app;
//	GRANT UPDATE (nonce, expires_at, held_until, reserved_for, done) ON rowlock_lease TO app;
//	GRANT SELECT ON rowlock_lease_waiter TO app; -- on Postgres, whose waiters are notified
//
// Only the owner of a table can protect the table with fence.Protect. The users that write to a protected table need no
// further privileges, on any database. In particular, they need no privilege on rowlock_lease_fence_pass.
//
// Package advisory needs:
//
//	GRANT USAGE ON SEQUENCE rowlock_lease_token TO app;
//
// The history of "rowlock run" needs this privilege. Without the privilege the command works, but records no history:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_run TO app;
//
// The statements also call rowlock_lease_same_epoch, pg_current_wal_lsn, pg_walfile_name, pg_postmaster_start_time and
// pg_control_system. By default every role may execute these functions. A program that calls only List and Inspect
// needs SELECT on rowlock_lease. A program that calls only a guard's Marks needs SELECT on rowlock_lease_fence.
//
// On MySQL and MariaDB the same privileges are enough. There the name of the database precedes the name of the table:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_meta TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_outcome TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_mint TO app; -- for package mysqlock
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app; -- for package mysqlock
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_run TO app; -- for the history of the command
//
// # Your own migrations
//
// If many processes run your own goose migrations when they start, [SessionLocker] or [Locker] makes sure that each
// migration runs only once:
//
//	goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(migrations.SessionLocker(migrations.Postgres, "app")))
//	goose.NewProvider(goose.DialectMySQL, db, files, goose.WithLocker(migrations.Locker(locker, "app migrations")))
//
// SessionLocker needs a direct connection to the database, and no table. Locker works with every backend and any
// connection pooler, and its lock shows which process migrates.
//
// # Taking turns
//
// Processes that migrate at the same time wait for each other. On Postgres they use a session-level advisory lock
// (pg_try_advisory_lock). The key of the advisory lock is the first eight bytes of the SHA-256 of "rowlock migrations "
// and the table's name. On MySQL and MariaDB the processes use GET_LOCK. These locks belong to the database session.
// So migrate through a direct connection, and not through a pooler in transaction mode. SQLite has no such lock:
// a process whose migration conflicts with that of another process retries, and finds that the migration is done.
package migrations
