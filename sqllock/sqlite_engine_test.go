package sqllock_test

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() {
	register("sqlite", migrations.SQLite, mainHandle, func(t *testing.T) *store {
		return sqliteStore(t, "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	})
	// This engine has SQLite's default settings: a rollback journal, and a busy timeout of 0, so that statements on a
	// busy file fail at once.
	register("sqlite-bare", migrations.SQLite, otherSettings, func(t *testing.T) *store { return sqliteStore(t, "") })
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

func newSQLiteTest(t *testing.T) *store {
	t.Helper()
	return sqliteTestWith(t, "WAL")
}

func sqliteTestWith(t *testing.T, mode string) *store {
	t.Helper()
	t.Parallel()
	s := sqliteStore(t, "?_pragma=journal_mode("+mode+")&_pragma=busy_timeout(60000)")
	s.table = "rowlock_lease"
	testschema.Install(t, s.raw, migrations.SQLite)
	return s
}

// fileOf returns the path of a store's file.
func fileOf(t *testing.T, s *store) string {
	t.Helper()
	var file string
	require.NoError(t, s.raw.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file))
	return "file:" + file
}

// live makes the waiters count as alive for another hour. A release passes over a waiter that has sent nothing for 3 s.
func (s *store) live(t *testing.T) {
	t.Helper()
	s.exec(t, "UPDATE rowlock_lease_waiter SET seen_at = seen_at + 3600000000")
}
