package sqlfunctions_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/sqllock"
)

var levels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

func seal(ctx context.Context, q querier, resource string, a answer) error {
	_, err := q.ExecContext(ctx, "SELECT rowlock_lease_seal($1, $2, $3, 'nightly')", resource, a.token, a.nonce)
	return err
}

func check(ctx context.Context, q querier, resource string, a answer) error {
	_, err := q.ExecContext(ctx, "SELECT rowlock_lease_check($1, $2, $3)", resource, a.token, a.nonce)
	return err
}

// next releases the lease a of the lock "nightly", and acquires the lock again.
func next(t *testing.T, db *sql.DB, a answer) answer {
	t.Helper()
	if a.token != 0 {
		require.True(t, release(t, db, "nightly", a))
	}
	a = tryAcquire(t, db, "nightly", "1 min")
	require.Equal(t, "granted", a.verdict)
	return a
}

// At every isolation level a stale lease passes no check, even if the snapshot of its transaction is older than the
// newer lease. The lease that has sealed last passes.
func TestACheckRefusesAStaleLeaseAtEveryLevel(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	var stale, newest answer
	for _, level := range levels {
		stale = next(t, db, newest)
		require.NoError(t, seal(t.Context(), db, "orders", stale))
		require.NoError(t, seal(t.Context(), db, "orders", stale), "a second seal changes nothing")
		old, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		_, err = old.ExecContext(t.Context(), "SELECT FROM rowlock_lease_fence") // takes the snapshot
		require.NoError(t, err)
		newest = next(t, db, stale)
		require.NoError(t, seal(t.Context(), db, "orders", newest))

		want := map[bool]string{true: "RLF02", false: "40001"}[level == sql.LevelReadCommitted]
		assert.Equal(t, want, sqlerror.State(check(t.Context(), old, "orders", stale)), "%s, old snapshot", level)
		require.NoError(t, old.Rollback())
		for a, want := range map[answer]string{stale: "RLF02", newest: ""} {
			fresh, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			require.NoError(t, err)
			assert.Equal(t, want, sqlerror.State(check(t.Context(), fresh, "orders", a)), level)
			require.NoError(t, fresh.Rollback())
		}
		assert.Equal(t, "RLF02", sqlerror.State(seal(t.Context(), db, "orders", stale)), "a stale lease cannot seal")
	}
	assert.Equal(t, "RLF02", sqlerror.State(check(t.Context(), db, "never sealed", newest)))
}

// A seal waits for the transactions that an older lease has checked, and not longer than the caller says. While it
// waits, no further transaction of the older lease passes the check: it fails with 40001.
func TestASealWaitsForCheckedTransactions(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	old := next(t, db, answer{})
	require.NoError(t, seal(t.Context(), db, "orders", old))
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, check(t.Context(), tx, "orders", old))
	newer := next(t, db, old)
	_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_seal('orders', $1, $2, 'nightly', wait => '50 ms')", newer.token, newer.nonce)
	assert.Equal(t, "55P03", sqlerror.State(err))
	sealed := make(chan error, 1)
	go func() { sealed <- seal(context.Background(), db, "orders", newer) }()
	require.True(t, within(time.Minute, func() bool {
		return count(t, db, "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") == 1
	}), "it waits")
	assert.Equal(t, "40001", sqlerror.State(check(t.Context(), db, "orders", old)))
	require.NoError(t, tx.Commit())
	require.NoError(t, <-sealed)
	assert.Equal(t, "RLF02", sqlerror.State(check(t.Context(), db, "orders", old)))
}

// A seal needs a snapshot that is newer than the older lease's writes, so it is refused at other levels.
func TestASealNeedsReadCommitted(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	a := next(t, db, answer{})
	for _, level := range levels[1:] {
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		assert.Equal(t, "25000", sqlerror.State(seal(t.Context(), tx, "orders", a)), level)
		require.NoError(t, tx.Rollback())
	}
}

// A guard of package fence and the functions refuse each other's stale leases. A protected table accepts a write after
// a check by SQL, and refuses it without.
func TestTheFunctionsAndAGuardRefuseEachOther(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	exec(t, db, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	guard := fence.Postgres(db)
	require.NoError(t, guard.Protect(t.Context(), "orders", "orders"))
	locker, err := rowlock.New(sqllock.Postgres(db))
	require.NoError(t, err)
	defer locker.Close() //nolint:errcheck // its lease is lost at the end of the test

	bySQL := next(t, db, answer{})
	require.NoError(t, seal(t.Context(), db, "orders", bySQL))
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, check(t.Context(), tx, "orders", bySQL))
	_, err = tx.ExecContext(t.Context(), "INSERT INTO orders VALUES (1)")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	_, err = db.ExecContext(t.Context(), "INSERT INTO orders VALUES (2)")
	assert.Equal(t, "RLF01", sqlerror.State(err))
	require.True(t, release(t, db, "nightly", bySQL))

	lease, err := locker.TryAcquire(t.Context(), "nightly")
	require.NoError(t, err)
	require.NoError(t, guard.Seal(t.Context(), lease, "orders"))
	assert.Equal(t, "RLF02", sqlerror.State(check(t.Context(), db, "orders", bySQL)))
	write := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (3)")
		return err
	}
	held := lease.Context()
	require.NoError(t, guard.Tx(held, write, "orders"))

	// An operator ends the lease, so a SQL session gets the lock while the Go process still believes that it holds it.
	require.NoError(t, locker.ForceRelease(t.Context(), "nightly", lease.Token()))
	newest := next(t, db, answer{})
	require.NoError(t, seal(t.Context(), db, "orders", newest))
	err = guard.Tx(held, write, "orders")
	assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, rowlock.ErrLost), "%v", err)
	assert.Equal(t, 2, count(t, db, "SELECT count(*) FROM orders"))
}

// A resource that a lock of another name has sealed is not sealed by mistake: tokens of different locks cannot be
// compared.
func TestASealOfAnotherLockIsRefused(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	a := next(t, db, answer{})
	require.NoError(t, seal(t.Context(), db, "orders", a))
	b := tryAcquire(t, db, "another", "1 min")
	_, err := db.ExecContext(t.Context(), "SELECT rowlock_lease_seal('orders', $1, $2, 'another')", b.token, b.nonce)
	assert.Equal(t, "RLF02", sqlerror.State(err))
	require.NoError(t, check(t.Context(), db, "orders", a))
}

// A check limits how long the session may be idle in the transaction, if the caller says so. Without that, the setting
// stays as it was.
func TestACheckMayLimitIdleTime(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	a := next(t, db, answer{})
	require.NoError(t, seal(t.Context(), db, "orders", a))
	for call, want := range map[string]string{
		"rowlock_lease_check('orders', 1, $1)":                   "7min",
		"rowlock_lease_check('orders', 1, $1, idle => '30 s')":   "30s",
		"rowlock_lease_check('orders', 1, $1, idle => '1 hour')": "7min",
	} {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = '7min'")
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "SELECT "+call, a.nonce)
		require.NoError(t, err)
		var limit string
		require.NoError(t, tx.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&limit))
		assert.Equal(t, want, limit, call)
		require.NoError(t, tx.Rollback())
	}
}
