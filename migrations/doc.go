// Package migrations creates and updates what packages sqllock, fence and advisory keep in a database.
// It is the only place of this module that does: nothing is created at run time.
//
// There are three ways to use it. [Up] brings the tables to the newest version; it may be called by
// every process at its start, at the same time. [FS] hands out the files, for those who have a
// folder of goose migrations or a goose provider of their own. [SQL] is one plain script, for every
// other tool. In all three, [Table] names the table, as sqllock.Table does.
//
// # The tables
//
// rowlock_lease has one row a lock. A release does not delete the row, because the next token must
// be larger; sqllock's Prune forgets rows in a way that keeps tokens rising. rowlock_lease_meta has
// one row: the floor of all tokens, the identity of the server that granted last, and until when
// nothing is granted after a change of it. rowlock_lease_fence has one row a resource that package
// fence protects: the newest holder's token. Its rows stay until the guard's Prune forgets them.
// rowlock_lease_outcome has one row for each of the fence's transactions at the same time: what became of
// the last one.
// rowlock_lease_fence_check is the function of the triggers that protect tables, on Postgres;
// rowlock_lease_fence_pass is the table of those whom they let pass, on MySQL and SQLite.
// rowlock_lease_version is goose's own table: what was applied.
// rowlock_lease_waiter has, on Postgres, one row for each process that waits for a lock. It is not logged, and may be
// emptied at any time.
// On Postgres rowlock_lease_token is the sequence of package advisory's tokens.
// On SQLite rowlock_lease_waiter has one row for each process and name that waits.
//
// rowlock_lease_run is the history of the command: what became of the last runs under each name. No lock depends on it.
//
// # Who may do what
//
// Whoever migrates owns the tables. The programs that lock need less. On Postgres, for everything
// but Prune:
//
//	GRANT USAGE ON SCHEMA ops TO app; -- if the tables are in a schema of their own
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_waiter TO app;
//	GRANT SELECT, UPDATE (epoch, quarantined_until, longest_ttl_us) ON rowlock_lease_meta TO app;
//
// and for Prune as well:
//
//	GRANT DELETE ON rowlock_lease TO app;
//	GRANT UPDATE (floor) ON rowlock_lease_meta TO app;
//
// and for package fence, whose tables may be in another database than the locks:
//
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_outcome TO app; -- for Tx and TxPgx
//
// which is enough for a guard's Reset, too; for its Prune as well:
//
//	GRANT DELETE ON rowlock_lease_fence TO app;
//	GRANT DELETE ON rowlock_lease_outcome TO app;
//	GRANT SELECT ON rowlock_lease TO app;
//
// and, where a program holds or ends its lease in the transactions of its data and does not lock
// through the same user, for Hold the first of these, and for ReleaseOnCommit both:
//
//	GRANT SELECT ON rowlock_lease TO app;
//	GRANT UPDATE (nonce, expires_at, held_until, reserved_for) ON rowlock_lease TO app;
//	GRANT SELECT ON rowlock_lease_waiter TO app; -- on Postgres, whose waiters are called
//
// fence.Protect is for the owner of the table that it protects. Who writes there needs no more than
// that, on all databases: not to rowlock_lease_fence_pass either.
//
// and for package advisory:
//
//	GRANT USAGE ON SEQUENCE rowlock_lease_token TO app;
//
// and for the history of the command, which does without where it may not:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_run TO app;
//
// They also call pg_current_wal_lsn, pg_walfile_name, pg_postmaster_start_time and
// pg_control_system, which every role may unless that was revoked. Whoever only looks, with
// List or Inspect, needs SELECT on rowlock_lease; with a guard's Marks, on rowlock_lease_fence.
//
// On MySQL and MariaDB the same privileges are enough, with the table's database in front:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_meta TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_outcome TO app;
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app; -- for package mysqlock, whose last tokens it has
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease_run TO app; -- for the history of the command
//
// # Your own migrations
//
// [SessionLocker] and [Locker] let the processes of a fleet run any goose migrations once:
//
//	goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(migrations.SessionLocker(migrations.Postgres, "app")))
//	goose.NewProvider(goose.DialectMySQL, db, files, goose.WithLocker(migrations.Locker(locker, "app migrations")))
//
// The first needs no table and a direct connection; the second works with every backend, behind any
// pooler, and shows who migrates.
//
// # Taking turns
//
// Processes that migrate at the same time take turns: on Postgres with an advisory lock of the
// session (pg_try_advisory_lock, its key the first eight bytes of the SHA-256 of "rowlock
// migrations " and the table's name), on MySQL with GET_LOCK. Both are the session's, so migrate
// through a direct connection and not through a pooler in transaction mode. On SQLite the losers of
// a race look again and find the work done.
package migrations
