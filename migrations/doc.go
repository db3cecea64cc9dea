// Package migrations creates and updates the tables of packages sqllock and fence. It is the only place of
// this module that does: nothing is created at run time.
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
// fence protects: the newest holder's token. Its rows are kept for ever, and stay few.
// rowlock_lease_version is goose's own table: what was applied.
//
// # Who may do what
//
// Whoever migrates owns the tables. The programs that lock need less. On Postgres, for everything
// but Prune:
//
//	GRANT USAGE ON SCHEMA ops TO app; -- if the tables are in a schema of their own
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease TO app;
//	GRANT SELECT, UPDATE (epoch, quarantined_until, longest_ttl_us) ON rowlock_lease_meta TO app;
//
// and for Prune as well:
//
//	GRANT DELETE ON rowlock_lease TO app;
//	GRANT UPDATE (floor) ON rowlock_lease_meta TO app;
//
// and for package fence, whose table may be in another database than the locks:
//
//	GRANT SELECT, INSERT, UPDATE ON rowlock_lease_fence TO app;
//
// They also call pg_current_wal_lsn, pg_walfile_name, pg_postmaster_start_time and
// pg_control_system, which every role may unless that was revoked. Whoever only looks, with
// List or Inspect, needs SELECT on rowlock_lease.
//
// On MySQL and MariaDB the same privileges are enough, with the table's database in front:
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON app.rowlock_lease TO app;
//	GRANT SELECT, UPDATE ON app.rowlock_lease_meta TO app;
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_fence TO app;
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app; -- for package mysqlock, whose last tokens it has
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
