package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// atExit contains the cleanups that run after all tests of the package.
var atExit []func() error

func TestMain(m *testing.M) { leaks.Main(cleanedUp{m}) }

type cleanedUp struct{ *testing.M }

func (m cleanedUp) Run() int {
	code := m.M.Run()
	for _, cleanUp := range atExit {
		if err := cleanUp(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// engine is a kind of database together with a driver or pooler. The test files of each database register their
// engines. A test that calls eachBackend runs on all engines.
type engine struct {
	name  string
	fresh func(t *testing.T) *store // returns a store with a new lease table for the test
}

var engines []engine

func register(name string, fresh func(t *testing.T) *store) {
	engines = append(engines, engine{name, fresh})
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

// eachBackend runs the function test on every engine, in parallel. Before that, it creates the tables in the store that
// it passes to this function.
func eachBackend(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.table = fmt.Sprintf("t%d", tables.Add(1))
			testschema.Install(t, s.raw, s.dialect, migrations.Table(s.table))
			test(t, s)
		})
	}
}

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

func request(name string) driver.Request {
	return driver.Request{
		Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 30 * time.Second, Holder: "tester " + name, Note: "why not",
	}
}

func acquire(t *testing.T, b *sqllock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: g.Token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
	}, g)
	require.Positive(t, g.Token)
	return g
}

// limited returns a context with a deadline that no call without a fault reaches.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// refused sends a request for a lock that is not free, asserts that it is refused, and returns the refusal.
func refused(t *testing.T, b *sqllock.Backend, r driver.Request) *driver.Held {
	t.Helper()
	g, err := b.Acquire(t.Context(), r)
	return held(t, err, "granted %v", g)
}

// atOnce is the limit of a call that is refused because another transaction has the lock. On MySQL, such a call may wait
// for a row for two seconds. A call without a limit would wait for 50 seconds on MySQL, and forever on PostgreSQL.
const atOnce = 20 * time.Second

func held(t *testing.T, err error, args ...any) *driver.Held {
	t.Helper()
	var h *driver.Held
	require.ErrorAs(t, err, &h, args...)
	return h
}

func renew(t *testing.T, b *sqllock.Backend, grants ...driver.Grant) []driver.Outcome {
	t.Helper()
	o, err := b.Renew(t.Context(), grants)
	require.NoError(t, err)
	return o
}

// near asserts that got differs from want by at most ten seconds.
func near(t *testing.T, want, got time.Duration, what string) {
	t.Helper()
	assert.InDelta(t, want.Seconds(), got.Seconds(), 10, what)
}

// until polls until the function done returns true. The limit is longer than the minute after which a PostgreSQL
// backend tries again to listen, if it has received no notification within five seconds on a slow machine.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "never came: "+what)
		}
	}
}

// isHeld reports whether err is a refusal with this reason.
func isHeld(err error, reason driver.Reason) bool {
	var h *driver.Held
	return errors.As(err, &h) && h.Reason == reason
}
