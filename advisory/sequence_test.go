package advisory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
)

// lockSequence locks the sequence of tokens, as a migration does. Until the function end is called, no session can take
// a number from the sequence.
func (w watcher) lockSequence() (end func()) {
	w.tb.Helper()
	tx, err := w.db.BeginTx(context.Background(), nil)
	require.NoError(w.tb, err)
	_, err = tx.ExecContext(w.tb.Context(), "ALTER SEQUENCE rowlock_lease_token OWNED BY NONE")
	require.NoError(w.tb, err)
	w.tb.Cleanup(func() { _ = tx.Rollback() })
	return func() { require.NoError(w.tb, tx.Commit()) }
}

// If an attempt gets the lock but no token, because the sequence is locked, it fails after half a second
// and releases the lock. The session keeps its other locks.
func TestAnAttemptWithoutANumberLeavesNothing(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		for _, setting := range []string{"", "&lock_timeout=50ms"} {
			dsn := database(t)
			b, w := open(dsn+setting, advisory.Sessions(1)), watch(t, dsn)
			g := acquire(t, b, "a")
			unlock := w.lockSequence()
			_, err := b.Acquire(limited(t), request("b"))
			require.ErrorContains(t, err, "55P03")
			assert.True(t, driver.IsNotApplied(err))
			assert.False(t, driver.IsPermanent(err))
			assert.Equal(t, 1, w.locks(), "only the other lock is left")
			outcomes, err := b.Renew(limited(t), []driver.Grant{g})
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
			unlock()
			require.NoError(t, b.Release(limited(t), acquire(t, b, "b")))
			require.NoError(t, b.Release(limited(t), g))
			assert.Zero(t, w.locks())
		}
	})
}

// If a wait gets the lock but no token, it fails and releases the lock.
func TestAWaitWithoutANumberLeavesNothing(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		a, b, w := open(dsn), open(dsn), watch(t, dsn)
		g := acquire(t, a, "a")
		got, failed := w.waitFor(limited(t), b, request("a"))
		unlock := w.lockSequence()
		require.NoError(t, a.Release(limited(t), g))
		select {
		case err := <-failed:
			var held *driver.Held
			require.NotErrorAs(t, err, &held)
		case g := <-got:
			require.NoError(t, b.Release(limited(t), g))
			require.Fail(t, "granted without a number")
		case <-time.After(20 * time.Second):
			require.Fail(t, "the waiter was refused by its own lock")
		}
		w.becomes("nothing is locked", func() bool { return w.locks() == 0 })
		unlock()
		got, failed = contest.Queue(limited(t), b, request("a"))
		require.NoError(t, b.Release(limited(t), contest.Granted(t, got, failed)))
		assert.Zero(t, w.locks())
	})
}
