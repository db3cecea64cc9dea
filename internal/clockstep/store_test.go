// Package clockstep_test tests lease rows while the clock of the database is set forward and back. These tests are in a
// separate package, because SQLite uses the clock of the process: a test that shifts this clock shifts it for all tests
// of the package.
package clockstep_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	sqldriver "database/sql/driver"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// store is a database whose clock can be set.
type store struct {
	name    string
	dialect migrations.Dialect
	start   func(t *testing.T, s *store)
	backend func(*sql.DB, ...sqllock.Option) *sqllock.Backend
	guard   func(*sql.DB, ...fence.Option) *fence.Guard

	db  *sql.DB
	set func(ahead time.Duration) error
}

var stores = []store{
	{name: "postgres", dialect: migrations.Postgres, start: server(testserver.Postgres, "pgx"), backend: sqllock.Postgres, guard: fence.Postgres},
	{name: "mysql", dialect: migrations.MySQL, start: server(testserver.MySQL, "mysql"), backend: sqllock.MySQL, guard: fence.MySQL},
	{name: "mariadb", dialect: migrations.MySQL, start: server(testserver.MariaDB, "mysql"), backend: sqllock.MySQL, guard: fence.MySQL},
	{name: "sqlite", dialect: migrations.SQLite, start: file, backend: sqllock.SQLite, guard: fence.SQLite},
}

// eachStore runs the function test on every database, with the tables in place.
func eachStore(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.start(t, &s)
			t.Cleanup(func() { require.NoError(t, s.db.Close()) })
			testschema.Install(t, s.db, s.dialect)
			s.step(t, 0)
			test(t, &s)
		})
	}
}

func server(engine, driverName string) func(*testing.T, *store) {
	return func(t *testing.T, s *store) {
		t.Helper()
		testenv.DSN(t, engine) // skips the test if testservers could not start this server
		server, err := testserver.Start(t.Context(), engine, testserver.Options{Clock: true})
		require.NoError(t, err)
		t.Cleanup(server.Stop)
		s.set = server.SetClock
		s.db, err = sql.Open(driverName, server.DSN)
		require.NoError(t, err)
	}
}

// julianday is the shift of SQLite's clock, in nanoseconds. The test replaces SQLite's function julianday with one
// that adds this shift. The SQLite statements of rowlock read the time only with that function.
var julianday atomic.Int64

func init() {
	_ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // without this, the driver would log each connection that is cut
	sqlite.MustRegisterScalarFunction("julianday", 1, func(_ *sqlite.FunctionContext, args []sqldriver.Value) (sqldriver.Value, error) {
		if args[0] != "now" {
			return nil, fmt.Errorf("julianday(%v): this one tells the time of now", args[0])
		}
		now := time.Now().Add(time.Duration(julianday.Load()))
		return 2440587.5 + float64(now.UnixMilli())/86_400_000, nil
	})
}

func file(t *testing.T, s *store) {
	t.Helper()
	path := "file:" + filepath.Join(t.TempDir(), "data.db") + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
	var err error
	s.db, err = sql.Open("sqlite", path)
	require.NoError(t, err)
	s.set = func(ahead time.Duration) error { julianday.Store(int64(ahead)); return nil }
}

// step sets the store's clock to the machine's time plus ahead, and waits until statements see the new time.
func (s *store) step(t *testing.T, ahead time.Duration) {
	t.Helper()
	require.NoError(t, s.set(ahead))
	query := map[migrations.Dialect]string{
		migrations.Postgres: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
		migrations.MySQL:    "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000",
		migrations.SQLite:   "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
	}[s.dialect]
	var ms int64
	require.NoError(t, s.db.QueryRowContext(t.Context(), query).Scan(&ms))
	require.InDelta(t, ahead.Seconds(), time.Until(time.UnixMilli(ms)).Seconds(), 30)
}
