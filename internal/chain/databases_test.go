//go:build unix

package chain_test

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

// database is one kind of store, as the test and its workers open it.
type database struct {
	driver  string
	dialect migrations.Dialect
	dsn     func(*testing.T) string
	backend func(*sql.DB, string) (*sqllock.Backend, func())
	guard   func(*sql.DB, ...fence.Option) *fence.Guard
	levels  []sql.IsolationLevel
	seq     string // the type of a column that counts the rows
}

var sqlLevels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

const mysqlSeq = "bigint AUTO_INCREMENT PRIMARY KEY"

var databases = map[string]database{
	"postgres": {"pgx", migrations.Postgres, func(t *testing.T) string { return testenv.Postgres(t) }, openPgx, fence.Postgres, sqlLevels, "bigserial PRIMARY KEY"},
	"mysql":    {"mysql", migrations.MySQL, func(t *testing.T) string { return testenv.MySQL(t) }, openMySQL, fence.MySQL, sqlLevels, mysqlSeq},
	"mariadb":  {"mysql", migrations.MySQL, func(t *testing.T) string { return testenv.MariaDB(t) }, openMySQL, fence.MySQL, sqlLevels, mysqlSeq},
	"sqlite": {"sqlite", migrations.SQLite, func(t *testing.T) string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
	}, openSQLite, fence.SQLite, []sql.IsolationLevel{sql.LevelDefault}, "INTEGER PRIMARY KEY AUTOINCREMENT"},
}

func openPgx(_ *sql.DB, dsn string) (*sqllock.Backend, func()) {
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		panic(err)
	}
	return sqllock.Pgx(pool), pool.Close
}

func openMySQL(db *sql.DB, _ string) (*sqllock.Backend, func()) { return sqllock.MySQL(db), func() {} }
func openSQLite(db *sql.DB, _ string) (*sqllock.Backend, func()) {
	return sqllock.SQLite(db), func() {}
}

// prepare makes the tables of the lock and an empty ledger in a fresh database.
func (d database) prepare(t *testing.T) (dsn string, db *sql.DB) {
	t.Helper()
	dsn = d.dsn(t)
	db, err := sql.Open(d.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, migrations.Up(t.Context(), db, d.dialect))
	for _, statement := range []string{
		"CREATE TABLE ledger (seq " + d.seq + ", id integer NOT NULL, token bigint NOT NULL, nonce char(36) NOT NULL, worker integer NOT NULL, read_val bigint NOT NULL, new_val bigint NOT NULL)",
		"CREATE INDEX ledger_of_id ON ledger (id, seq)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	return dsn, db
}

// bind writes the parameters of a statement as the driver wants them.
func (d database) bind(statement string) string {
	if d.dialect == migrations.Postgres {
		return sqlbind.Dollars(statement)
	}
	return statement
}
