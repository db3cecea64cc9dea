// Package migrations creates and updates the tables of packages sqllock, fence, advisory and mysqlock. Nothing else in this module does:
// nothing is created at run time.
//
// There are three ways to use it. [Up] brings the tables to the newest version. Every process may call it at its start, at the same time.
// [FS] returns the files, for a goose provider or a folder of goose migrations of your own. [SQL] is one plain script, for every other
// tool. In all three, [Table] names the table, as sqllock.Table does.
//
// # The tables
//
// The files document every column. Their numbers are the same on all databases, and SQLite has no third one.
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
//	             rowlock_lease_counter     the tokens of package mysqlock (MySQL and MariaDB)
//	00004_run    rowlock_lease_run         the history of "rowlock run"; no lock depends on it
//
// A lock in rows needs the first file alone. rowlock_lease_version is goose's own table: which of these were applied.
//
// # Privileges
//
// The role that migrates owns the tables. The programs that lock need less. On Postgres, for everything but Prune:
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
// Package fence, whose tables may be in another database than the locks, needs:
//
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_outcome TO app; -- for Tx and TxPgx
//
// That is enough for a guard's Reset. Its Prune also needs:
//
//	GRANT DELETE ON rowlock_lease_fence TO app;
//	GRANT DELETE ON rowlock_lease_outcome TO app;
//	GRANT SELECT ON rowlock_lease TO app;
//
// A program may hold or end its lease in the transactions of its data, as another user than the one that locks. That user needs the
// first of these for CheckHeld, and all for ReleaseOnCommit:
//
//	GRANT SELECT ON rowlock_lease TO app;
//	GRANT UPDATE (nonce, expires_at, held_until, reserved_for) ON rowlock_lease TO app;
//	GRANT SELECT ON rowlock_lease_waiter TO app; -- on Postgres, whose waiters are notified
//
// Only the owner of a table can protect it by fence.Protect. A user that writes to it needs no further privilege, on any database, and
// none on rowlock_lease_fence_pass.
//
// Package advisory needs:
//
//	GRANT USAGE ON SEQUENCE rowlock_lease_token TO app;
//
// The history of the command needs this. Without it the command works and records nothing:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_run TO app;
//
// The statements also call rowlock_lease_same_epoch, pg_current_wal_lsn, pg_walfile_name, pg_postmaster_start_time and pg_control_system. Every role may, unless that
// was revoked. List and Inspect alone need SELECT on rowlock_lease, and a guard's Marks on rowlock_lease_fence.
//
// On MySQL and MariaDB the same privileges are enough. The table's database stands in front:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_meta TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_outcome TO app;
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app; -- for package mysqlock
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_run TO app; -- for the history of the command
//
// # Your own migrations
//
// [SessionLocker] and [Locker] let the processes of a fleet run any goose migrations once:
//
//	goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(migrations.SessionLocker(migrations.Postgres, "app")))
//	goose.NewProvider(goose.DialectMySQL, db, files, goose.WithLocker(migrations.Locker(locker, "app migrations")))
//
// The first needs a direct connection, and no table. The second works with every backend, behind any pooler, and shows who migrates.
//
// # Taking turns
//
// Processes that migrate at the same time take turns. On Postgres they use an advisory lock of the session (pg_try_advisory_lock). Its key is
// the first eight bytes of the SHA-256 of "rowlock migrations " and the table's name. On MySQL they use GET_LOCK. Both belong to the session,
// so migrate through a direct connection and not through a pooler in transaction mode. On SQLite a process that loses the race tries again
// and finds the work done.
package migrations
