//go:build unix

package processes_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// database describes one kind of database, and how tests and workers open it.
type database struct {
	driver    string
	dialect   migrations.Dialect
	dsn       func(*testing.T) string
	backend   func(*sql.DB, string) (*sqllock.Backend, func())
	guard     func(*sql.DB, ...fence.Option) *fence.Guard
	levels    []sql.IsolationLevel
	seq       string // the type of the column that numbers the rows
	lock      string // the suffix of a SELECT that locks the row
	immediate string // a suffix of the DSN for a database whose SELECT cannot lock rows: a transaction then locks the database when it begins
}

var sqlLevels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

var databases = map[string]database{
	"postgres": {
		driver: "pgx", dialect: migrations.Postgres, backend: openPgx, guard: fence.Postgres, levels: sqlLevels,
		dsn: func(t *testing.T) string { return testenv.Postgres(t) },
		seq: "bigserial PRIMARY KEY", lock: " FOR UPDATE",
	},
	"mysql":   mysql(func(t *testing.T) string { return testenv.MySQL(t) }),
	"mariadb": mysql(func(t *testing.T) string { return testenv.MariaDB(t) }),
	"sqlite": {
		driver: "sqlite", dialect: migrations.SQLite, backend: openSQLite, guard: fence.SQLite, levels: []sql.IsolationLevel{sql.LevelDefault},
		dsn: func(t *testing.T) string {
			return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
		},
		seq: "INTEGER PRIMARY KEY AUTOINCREMENT", immediate: "&_txlock=immediate",
	},
}

func mysql(dsn func(*testing.T) string) database {
	return database{
		driver: "mysql", dialect: migrations.MySQL, backend: openMySQL, guard: fence.MySQL, levels: sqlLevels,
		dsn: dsn, seq: "bigint AUTO_INCREMENT PRIMARY KEY", lock: " FOR UPDATE",
	}
}

func openPgx(_ *sql.DB, dsn string) (*sqllock.Backend, func()) {
	pool, err := pgxpool.New(context.Background(), dsn)
	must(err)
	return sqllock.Pgx(pool), pool.Close
}

func openMySQL(db *sql.DB, _ string) (*sqllock.Backend, func()) { return sqllock.MySQL(db), func() {} }
func openSQLite(db *sql.DB, _ string) (*sqllock.Backend, func()) {
	return sqllock.SQLite(db), func() {}
}

// prepare creates the lock tables in an empty database, and runs statements.
func (d database) prepare(t *testing.T, dsn string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, migrations.Up(t.Context(), db, d.dialect))
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	return db
}

// bind returns the statement with the driver's syntax for parameters.
func (d database) bind(statement string) string {
	if d.dialect == migrations.Postgres {
		return sqlbind.Dollars(statement)
	}
	return statement
}
