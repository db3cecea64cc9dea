package sqllock_test

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() {
	register("sqlite", func(t *testing.T) *store {
		return sqliteStore(t, "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	})
	// This engine has SQLite's default settings: a rollback journal, and a busy timeout of 0, so that statements on a
	// busy file fail at once.
	register("sqlite-bare", func(t *testing.T) *store { return sqliteStore(t, "") })
}

func sqliteStore(t *testing.T, parameters string) *store {
	t.Helper()
	path := url.URL{Path: filepath.Join(t.TempDir(), "locks.db")}
	file := "file:" + path.EscapedPath()
	s := &store{
		dialect: migrations.SQLite,
		raw:     openSQLite(t, file+"?_pragma=busy_timeout(5000)&_txlock=immediate"),
		age:     "UPDATE %[1]s SET %[2]s = %[2]s - %[3]d",
		oneFile: true,
		connect: func(opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.SQLite(openSQLite(t, file+parameters), opts...)
		},
	}
	return s
}

func openSQLite(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
