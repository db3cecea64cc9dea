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

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// database is one kind of store, as the test and its workers open it.
type database struct {
	driver  string
	dialect migrations.Dialect
	dsn     func(*testing.T) string
	backend func(*sql.DB, string) (driver.Backend, func())
	lock    string // behind the SELECT that reads the counter
}

var databases = map[string]database{
	"postgres": {driver: "pgx", dialect: migrations.Postgres, dsn: func(t *testing.T) string { return testenv.Postgres(t) }, backend: openPgx, lock: " FOR UPDATE"},
	"mysql":    {driver: "mysql", dialect: migrations.MySQL, dsn: func(t *testing.T) string { return testenv.MySQL(t) }, backend: openMySQL, lock: " FOR UPDATE"},
	"mariadb":  {driver: "mysql", dialect: migrations.MySQL, dsn: func(t *testing.T) string { return testenv.MariaDB(t) }, backend: openMySQL, lock: " FOR UPDATE"},
	"sqlite": {driver: "sqlite", dialect: migrations.SQLite, backend: openSQLite, dsn: func(t *testing.T) string {
		return "file:" + filepath.Join(t.TempDir(), "test.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_txlock=immediate"
	}},
}

func openPgx(_ *sql.DB, dsn string) (driver.Backend, func()) {
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		panic(err)
	}
	return sqllock.Pgx(pool), pool.Close
}

func openMySQL(db *sql.DB, _ string) (driver.Backend, func())  { return sqllock.MySQL(db), func() {} }
func openSQLite(db *sql.DB, _ string) (driver.Backend, func()) { return sqllock.SQLite(db), func() {} }

// prepare makes the lease table, the counters and the ledger in a fresh database.
func (d database) prepare(t *testing.T) (dsn string, db *sql.DB) {
	t.Helper()
	dsn = d.dsn(t)
	db, err := sql.Open(d.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, migrations.Up(t.Context(), db, d.dialect))
	for _, statement := range []string{
		"CREATE TABLE counter (id integer PRIMARY KEY, token bigint NOT NULL, n bigint NOT NULL)",
		"CREATE TABLE ledger (id integer NOT NULL, n bigint NOT NULL, token bigint NOT NULL, worker integer NOT NULL, PRIMARY KEY (id, n))",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	for id := range names {
		_, err := db.ExecContext(t.Context(), d.bind("INSERT INTO counter VALUES (?, 0, 0)"), id)
		require.NoError(t, err)
	}
	return dsn, db
}

// bind writes the parameters of a statement as the driver wants them.
func (d database) bind(statement string) string {
	if d.dialect != migrations.Postgres {
		return statement
	}
	bound, n := make([]byte, 0, len(statement)+8), byte('0')
	for _, c := range []byte(statement) {
		if c == '?' {
			n++
			bound = append(bound, '$', n)
			continue
		}
		bound = append(bound, c)
	}
	return string(bound)
}
