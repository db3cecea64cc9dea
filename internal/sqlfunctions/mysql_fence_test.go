package sqlfunctions_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
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

const (
	unchecked  = 50451 // as the trigger of a protected table
	stale      = 50452 // as the trigger of a protected table
	oldRead    = 50454
	notBegun   = 50457
	lockWaited = 1205
)

func callSeal(ctx context.Context, q querier, resource string, a answer) error {
	_, err := q.ExecContext(ctx, "CALL rowlock_lease_seal(?, ?, ?, 'nightly', NULL)", resource, a.token, a.nonce)
	return err
}

func callCheck(ctx context.Context, q querier, resource string, a answer) error {
	_, err := q.ExecContext(ctx, "CALL rowlock_lease_check(?, ?, ?, NULL)", resource, a.token, a.nonce)
	return err
}

// nextOnMySQL releases the lease a of the lock "nightly", and acquires the lock again.
func nextOnMySQL(t *testing.T, db *sql.DB, a answer) answer {
	t.Helper()
	if a.token != 0 {
		mustRelease(t, db, "nightly", a)
	}
	a = mustTry(t, db, "nightly")
	require.Equal(t, "granted", a.verdict)
	return a
}

// At every isolation level a stale lease passes no check, even if the snapshot of its transaction is older than the
// newer lease. The lease that has sealed last passes, unless its transaction began to read before the seal.
func TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		ctx := t.Context()
		var old, newest answer
		for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			old = nextOnMySQL(t, db, newest)
			require.NoError(t, callSeal(ctx, db, "orders", old))
			require.NoError(t, callSeal(ctx, db, "orders", old), "a second seal changes nothing")
			var before [2]*sql.Tx
			for i := range before {
				tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				_, err = tx.ExecContext(ctx, "SELECT COUNT(*) FROM rowlock_lease_fence_pass") // takes the snapshot
				require.NoError(t, err)
				before[i] = tx
			}
			newest = nextOnMySQL(t, db, old)
			require.NoError(t, callSeal(ctx, db, "orders", newest))
			snapshot := level == sql.LevelRepeatableRead || level == sql.LevelSerializable && strings.HasSuffix(t.Name(), "-snapshot")
			err := callCheck(ctx, before[0], "orders", old)
			assert.Contains(t, map[bool][]uint16{true: {stale, 1020}, false: {stale}}[snapshot], sqlerror.MySQL(err), "%s: %v", level, err)
			err = callCheck(ctx, before[1], "orders", newest)
			assert.Contains(t, map[bool][]uint16{true: {oldRead, 1020}, false: {0}}[snapshot], sqlerror.MySQL(err), "%s: %v", level, err)
			for _, tx := range before {
				require.NoError(t, tx.Rollback())
			}
			for a, want := range map[answer]int{old: stale, newest: 0} {
				fresh, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				err = callCheck(ctx, fresh, "orders", a)
				assert.EqualValues(t, want, sqlerror.MySQL(err), "%s: %v", level, err)
				require.NoError(t, fresh.Rollback())
			}
			assert.EqualValues(t, stale, sqlerror.MySQL(callSeal(ctx, db, "orders", old)), "a stale lease cannot seal")
		}
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		assert.EqualValues(t, stale, sqlerror.MySQL(callCheck(ctx, tx, "never sealed", newest)))
		assert.EqualValues(t, stale, sqlerror.MySQL(callCheck(ctx, tx, "ORDERS", newest)), "a name of its own")
		require.NoError(t, tx.Rollback())
		assert.EqualValues(t, notBegun, sqlerror.MySQL(callCheck(ctx, db, "orders", newest)), "a check outside a transaction protects nothing")
	})
}

// A seal waits for the transactions that an older lease has checked, and not longer than innodb_lock_wait_timeout.
func TestASealByAProcedureWaitsForCheckedTransactions(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, dsn string) {
		ctx := t.Context()
		old := nextOnMySQL(t, db, answer{})
		require.NoError(t, callSeal(ctx, db, "orders", old))
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		require.NoError(t, callCheck(ctx, tx, "orders", old))
		newer := nextOnMySQL(t, db, old)
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(ctx, "SET innodb_lock_wait_timeout = 1")
		require.NoError(t, err)
		if err := callSeal(ctx, conn, "orders", newer); sqlerror.MySQL(err) != lockWaited {
			require.NoError(t, tx.Rollback())
			t.Fatalf("the seal did not wait: %v", err)
		}
		sealed := make(chan error, 1)
		go func() { sealed <- callSeal(context.Background(), db, "orders", newer) }()
		// The server's list of waiting sessions is not refreshed while it is read often, so a call that has been running for
		// 400 ms counts as waiting.
		since := time.Now()
		require.True(t, within(time.Minute, func() bool {
			if !slices.ContainsFunc(testenv.Sessions(t, db), func(other testenv.Session) bool {
				return other.Database == mysqlConfig(t, dsn).DBName && (strings.Contains(other.Statement, "lease_fence") || strings.Contains(other.Statement, "lease_seal"))
			}) {
				since = time.Now()
			}
			return time.Since(since) > 400*time.Millisecond
		}), "it waits")
		assert.Empty(t, sealed)
		require.NoError(t, tx.Commit())
		require.NoError(t, <-sealed)
		_, err = conn.ExecContext(ctx, "START TRANSACTION")
		require.NoError(t, err)
		assert.EqualValues(t, stale, sqlerror.MySQL(callCheck(ctx, conn, "orders", old)))
		_, err = conn.ExecContext(ctx, "ROLLBACK")
		require.NoError(t, err)
	})
}

// A guard of package fence and the procedures refuse each other's stale leases. A protected table accepts a write after
// a check by a procedure, and refuses it without.
func TestTheProceduresAndAGuardRefuseEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		ctx := t.Context()
		execMySQL(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
		guard := fence.MySQL(db, fence.Protected())
		require.NoError(t, guard.Protect(ctx, "orders", "orders"))
		locker, err := rowlock.New(sqllock.MySQL(db))
		require.NoError(t, err)
		defer locker.Close() //nolint:errcheck // its lease is lost at the end of the test
		bySQL := nextOnMySQL(t, db, answer{})
		require.NoError(t, callSeal(ctx, db, "orders", bySQL))
		checked, err := db.Conn(ctx)
		require.NoError(t, err)
		defer checked.Close()
		inOne := func(write string) error {
			if _, err := checked.ExecContext(ctx, "START TRANSACTION"); err != nil {
				return err
			}
			err := callCheck(ctx, checked, "orders", bySQL)
			if err == nil {
				_, err = checked.ExecContext(ctx, write)
			}
			_, ended := checked.ExecContext(ctx, map[bool]string{true: "COMMIT", false: "ROLLBACK"}[err == nil])
			return errors.Join(err, ended)
		}
		require.NoError(t, inOne("INSERT INTO orders VALUES (1)"))
		other, err := db.Conn(ctx)
		require.NoError(t, err)
		_, err = other.ExecContext(ctx, "INSERT INTO orders VALUES (2)")
		assert.EqualValues(t, unchecked, sqlerror.MySQL(err))
		require.NoError(t, other.Close())
		mustRelease(t, db, "nightly", bySQL)

		lease, err := locker.TryAcquire(ctx, "nightly")
		require.NoError(t, err)
		require.NoError(t, guard.Seal(ctx, lease, "orders"))
		assert.EqualValues(t, stale, sqlerror.MySQL(inOne("INSERT INTO orders VALUES (2)")))
		_, err = checked.ExecContext(ctx, "INSERT INTO orders VALUES (2)")
		assert.EqualValues(t, stale, sqlerror.MySQL(err), "the trigger compares the mark again")
		write := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (3)")
			return err
		}
		held := lease.Context()
		require.NoError(t, guard.Tx(held, write, "orders"))

		// An operator ends the lease, so a session gets the lock while the Go process still believes that it holds it.
		require.NoError(t, locker.ForceRelease(ctx, "nightly", lease.Token()))
		require.NoError(t, callSeal(ctx, db, "orders", nextOnMySQL(t, db, answer{})))
		err = guard.Tx(held, write, "orders")
		assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, rowlock.ErrLost), "%v", err)
		assert.Equal(t, 2, count(t, db, "SELECT COUNT(*) FROM orders"))
	})
}

// A resource that a lock of another name has sealed is not sealed by mistake: tokens of different locks cannot be
// compared.
func TestASealOfAnotherLockByAProcedureIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, _ string) {
		a := nextOnMySQL(t, db, answer{})
		require.NoError(t, callSeal(t.Context(), db, "orders", a))
		b := mustTry(t, db, "another")
		for _, name := range []string{"another", strings.ToUpper("nightly")} {
			_, err := db.ExecContext(t.Context(), "CALL rowlock_lease_seal('orders', ?, ?, ?, NULL)", b.token, b.nonce, name)
			assert.EqualValues(t, stale, sqlerror.MySQL(err), "%v", err)
		}
	})
}
