//go:build unix

// Package python_test checks the Python client against the suite of package locktest, against the statements of the
// Go packages, and together with Go processes.
package python_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/stdiotimes"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/locktest/stdio"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == goWorker {
		work(os.Args[2], os.Args[3], os.Args[4])
		return
	}
	goleak.VerifyTestMain(m)
}

// python returns the path of a Python 3 with psycopg 3.
func python(t *testing.T) string {
	t.Helper()
	path, err := testserver.Python(t.Context(), testserver.Options{Logf: t.Logf})
	if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return path
}

// store is a new database with the tables of rowlock.
type store struct {
	url     string // as the Python client expects it
	dsn     string // as the Go driver expects it
	db      *sql.DB
	backend driver.Backend
	guard   *fence.Guard
}

// stores are the databases in which the client keeps locks.
var stores = map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL, "mariadb": testenv.MariaDB}

func newStore(t *testing.T, name string) store {
	t.Helper()
	dsn := stores[name](t)
	s := open(t, name, dsn)
	t.Cleanup(func() { require.NoError(t, s.db.Close()) })
	if name == "postgres" {
		require.NoError(t, migrations.Up(t.Context(), s.db, migrations.Postgres))
		return s
	}
	require.NoError(t, migrations.Up(t.Context(), s.db, migrations.MySQL))
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	s.url = (&url.URL{Scheme: name, User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: "/" + config.DBName}).String()
	return s
}

// open connects to the database at dsn.
func open(t require.TestingT, name, dsn string) store {
	s := store{url: dsn, dsn: dsn}
	var err error
	if name == "postgres" {
		s.db, err = sql.Open("pgx", dsn)
		s.backend, s.guard = sqllock.Postgres(s.db), fence.Postgres(s.db)
	} else {
		s.db, err = sql.Open("mysql", dsn)
		s.backend, s.guard = sqllock.MySQL(s.db), fence.MySQL(s.db)
	}
	require.NoError(t, err)
	return s
}

// mainStores are the databases in which "make test" tests the client. The client has the same code for MariaDB as for
// MySQL, and the statements of both are those of package sqllock.
var mainStores = []string{"postgres", "mysql"}

// The Python client keeps every promise of the suite that it has operations for.
func TestConformance(t *testing.T) {
	for _, name := range mainStores { // one after the other, because each case runs several processes
		t.Run(name, func(t *testing.T) { conforms(t, name) })
	}
}

func TestCompatConformance(t *testing.T) {
	testenv.Compat(t)
	conforms(t, "mariadb")
}

func conforms(t *testing.T, store string) {
	t.Helper()
	s := newStore(t, store)
	h, err := stdio.New(s.url, python(t), "conformance.py")
	require.NoError(t, err)
	defer func() { require.NoError(t, h.CloseAll()) }()
	var sum stdio.Summary
	var failed []error
	ctx := stdiotimes.With(t.Context(), stdiotimes.Times{Patience: 10 * time.Second, KeptTTL: 6 * time.Second, GivenUpTTL: 25 * time.Second})
	_ = stdio.Check(ctx, h, func(r locktest.Result) { // its error joins those of the results
		sum.Add(r)
		var not *locktest.NotRun
		switch {
		case errors.As(r.Err, &not):
			assert.True(t, lacks(not.Reason), "%v", not)
		case r.Err != nil:
			failed = append(failed, r.Err)
		}
	})
	for _, err := range failed {
		t.Error(err)
	}
	t.Log(sum.String())
	assert.Greater(t, sum.Passed, 50)
}

// lacks reports whether reason is something that the client does not have.
func lacks(reason string) bool {
	for _, what := range []string{"driver.Operator", "driver.HandOverer", "driver.Batcher", "driver.Notifier", "Capabilities.Shares", "Capabilities.Pauses", "Capabilities.Ticks", "locktest.Expirer", "locktest.Restarter", "locktest.Counter", "locktest.Limited"} {
		if strings.Contains(reason, what) {
			return true
		}
	}
	return false
}

// Each broken client fails the case that checks the promise which it breaks.
func TestBrokenClientsAreCaught(t *testing.T) { brokenAreCaught(t, "postgres") }

func TestCompatBrokenClientsAreCaught(t *testing.T) {
	testenv.Compat(t)
	brokenAreCaught(t, "mysql", "mariadb")
}

func brokenAreCaught(t *testing.T, kinds ...string) {
	t.Helper()
	t.Parallel()
	for _, kind := range kinds {
		url := newStore(t, kind).url
		for defect, name := range map[string]string{
			"deadline from the reply":          "program-counts-from-before-the-request",
			"renews by name":                   "renewal-compares-nonce",
			"releases without the nonce":       "release-compares-nonce",
			"trusts until a renewal says lost": "program-stops-first",
			"draws another nonce for a retry":  "program-repeats-with-its-nonce",
			"leaves what it gave up":           "program-leaves-nothing",
		} {
			t.Run(kind+"/"+defect, func(t *testing.T) {
				t.Parallel()
				h, err := stdio.New(url, python(t), "testdata/broken.py", defect)
				require.NoError(t, err)
				defer func() { require.NoError(t, h.CloseAll()) }()
				var found *locktest.Failure
				ctx := stdiotimes.With(context.Background(), stdiotimes.Times{Patience: 3 * time.Second, KeptTTL: 6 * time.Second, GivenUpTTL: 12 * time.Second})
				require.ErrorAs(t, stdio.Check(ctx, h, func(locktest.Result) {}, name), &found)
				assert.Equal(t, name, found.Case)
				t.Log(found)
			})
		}
	}
}
