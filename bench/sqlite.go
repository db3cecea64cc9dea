package main

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

const waitingImmediate = "BEGIN IMMEDIATE, which waits"

func sqliteStore() store {
	return store{
		id: "sqlite", title: "SQLite", product: "SQLite",
		serve: func(_ context.Context, w *world) ([]string, error) {
			return []string{sqliteDSN(w.file("bench.db"))}, nil
		},
		prepare: func(ctx context.Context, at []string) error { return migrate(ctx, "sqlite", at[0], migrations.SQLite) },
		version: func(ctx context.Context, at []string) (string, error) {
			return askSQL(ctx, "sqlite", at[0], "SELECT sqlite_version()")
		},
		sql: &dialect{
			driver: "sqlite", backend: sqllock.SQLite, guard: fence.SQLite, rows: "lease row",
			fresh: func(_ context.Context, w *world, _, name string) (string, error) { return sqliteDSN(w.file(name)), nil },
			name:  "'lock ' || (token + %d)",
			touch: "UPDATE rowlock_lease SET token = token + 1 WHERE namespace = '' AND name = ?",
			tidy:  []string{"PRAGMA wal_checkpoint(TRUNCATE)"},
			bloat: bloat{"", "SELECT page_count * page_size, 0 FROM pragma_page_count(), pragma_page_size()", ""},
		},
		many: []string{"lease row"}, modules: []string{"modernc.org/sqlite"},
		locks: []lock{
			twoUpdates("sqlite", "INSERT OR IGNORE INTO bench_bare VALUES (?, 0)", "UPDATE bench_bare SET n = n + 1 WHERE id = ?"),
			immediate(),
			ours("lease row", twoUpdatesSQL, bySQL("sqlite", func(db *sql.DB) *sqllock.Backend { return sqllock.SQLite(db) })),
		},
	}
}

// sqliteDSN returns the DSN of a file in which every commit is flushed.
func sqliteDSN(path string) string {
	return "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(60000)"
}

// immediate is the write lock of the SQLite file itself (BEGIN IMMEDIATE). SQLite waits for this lock by polling.
func immediate() lock {
	return lock{name: waitingImmediate, kind: report.Floor, floor: waitingImmediate, most: 150,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			db, err := sql.Open("sqlite", at[0])
			if err != nil {
				return nil, err
			}
			return gather(t.Members, func() { _ = db.Close() }, func() (acquirer, error) {
				conn, err := db.Conn(ctx)
				if err != nil {
					return nil, err
				}
				do := func(ctx context.Context, statement string) error {
					_, err := conn.ExecContext(ctx, statement)
					return err
				}
				release := func(ctx context.Context) error { return do(ctx, "COMMIT") }
				return func(ctx context.Context) (held, error) { return held{release: release}, do(ctx, "BEGIN IMMEDIATE") }, nil
			})
		}}
}
