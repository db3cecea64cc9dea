package sqllock_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// engine is a kind of database together with a driver, a pooler or settings of its sessions. The test files of each
// database register their engines.
type engine struct {
	name    string
	dialect migrations.Dialect
	kind    kind
	fresh   func(t *testing.T) *store // returns a store with a new lease table for the test
}

// kind says which tests run on an engine. A test whose name begins with TestCompat runs on the engines that
// "make test" leaves out.
type kind int

const (
	mainHandle    kind = iota // all tests
	otherSettings             // the tests of eachSetting, in which transactions meet
	otherHandle               // the tests of "make compat" only
)

var engines []engine

func register(name string, d migrations.Dialect, k kind, fresh func(t *testing.T) *store) {
	engines = append(engines, engine{name, d, k, fresh})
}

// store contains what one test needs of an engine's database.
type store struct {
	table   string // the lease table of this test
	dialect migrations.Dialect
	raw     *sql.DB                                                      // the pool for the test's own statements and transactions
	connect func(opts ...sqllock.Option) *sqllock.Backend                // returns a backend with a separate pool
	zone    func(offset string, opts ...sqllock.Option) *sqllock.Backend // returns a backend with sessions in that time zone; nil if the engine's sessions have no time zone
	age     string                                                       // the format of a statement that moves the times in column %[2]s of table %[1]s back by %[3]d microseconds
	oneFile bool                                                         // true if a writer locks the whole database
}

// eachBackend runs the function test on the main handle of each database, in parallel. In a test of "make compat", it
// runs that function on all other engines. Before that, it creates the tables in the store that it passes to this
// function. TestCompatBackends lists all tests that call eachBackend.
func eachBackend(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	eachOf(t, mainHandle, test, migrations.Postgres, migrations.MySQL, migrations.SQLite)
}

// eachSetting is like eachBackend, but also "make test" runs the function test on databases whose sessions have other
// isolation levels, and on a SQLite file with the default settings. The result of statements that meet depends on these.
func eachSetting(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	eachOf(t, otherSettings, test, migrations.Postgres, migrations.MySQL, migrations.SQLite)
}

// eachSealer is like eachBackend, but runs the function test only on databases in which a grant can also raise the fence
// mark.
func eachSealer(t *testing.T, test func(t *testing.T, s *store, b *sqllock.Backend)) {
	t.Helper()
	eachOf(t, mainHandle, sealer(test), migrations.Postgres, migrations.SQLite)
}

func sealer(test func(t *testing.T, s *store, b *sqllock.Backend)) func(t *testing.T, s *store) {
	return func(t *testing.T, s *store) {
		b := s.open()
		require.NotZero(t, b.Capabilities().SealsAt)
		test(t, s, b)
	}
}

// eachOf runs the function test on the engines of some databases. In "make test" it takes the engines up to the given
// kind, and in a test of "make compat" all others.
func eachOf(t *testing.T, usual kind, test func(t *testing.T, s *store), dialects ...migrations.Dialect) {
	t.Helper()
	t.Parallel()
	compat := inCompat(t)
	for _, e := range engines {
		if compat == (e.kind <= usual) || !slices.Contains(dialects, e.dialect) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			if compat {
				testenv.Compat(t)
			}
			t.Parallel()
			s := e.fresh(t)
			s.table = fmt.Sprintf("t%d", tables.Add(1))
			testschema.Install(t, s.raw, s.dialect, migrations.Table(s.table))
			test(t, s)
		})
	}
}

// inCompat reports whether t is a test of "make compat".
func inCompat(t *testing.T) bool { return strings.HasPrefix(t.Name(), "TestCompat") }

// tables counts the tables of all tests, so that each table has a different name.
var tables atomic.Int64

// open returns a backend for the test's table, with a separate pool.
func (s *store) open() *sqllock.Backend { return s.connect(sqllock.Table(s.table)) }

// sql replaces the table name rowlock_lease in a statement with the name of the test's table.
func (s *store) sql(statement string) string {
	return strings.ReplaceAll(statement, "rowlock_lease", s.table)
}

// grow moves the times of all locks, and the end of the quarantine after a failover, back by d, as if the duration d
// had passed.
func (s *store) grow(t *testing.T, d time.Duration) {
	t.Helper()
	for _, table := range []string{"rowlock_lease", "rowlock_lease_meta"} {
		columns := []string{"acquired_at", "expires_at", "held_until"}
		if table == "rowlock_lease_meta" {
			columns = []string{"quarantined_until"}
		}
		for _, column := range columns {
			s.exec(t, fmt.Sprintf(s.age, table, column, d.Microseconds()))
		}
	}
}

// rounds returns how often each goroutine acquires the lock in a test of many grants. "make compat" runs more rounds.
func (s *store) rounds(t *testing.T) int {
	switch {
	case s.oneFile:
		return 5 // only a few rounds, because each round waits for the writes of all others
	case inCompat(t):
		return 20
	default:
		return 8
	}
}

func (s *store) exec(t *testing.T, statement string) {
	t.Helper()
	_, err := s.raw.ExecContext(t.Context(), s.sql(statement))
	require.NoError(t, err, statement)
}

func (s *store) int(t *testing.T, query string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, s.raw.QueryRowContext(t.Context(), s.sql(query)).Scan(&n), query)
	return n
}

func (s *store) begin(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := s.raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func (s *store) mark(t *testing.T, resource string) mark {
	t.Helper()
	var m mark
	err := s.raw.QueryRowContext(t.Context(),
		s.sql("SELECT token, nonce, domain FROM rowlock_lease_fence WHERE resource = '"+resource+"'")).Scan(&m.token, &m.nonce, &m.domain)
	if !errors.Is(err, sql.ErrNoRows) {
		require.NoError(t, err)
	}
	return m
}
