package sqlfunctions_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
)

// lock_in_tx holds the lock until the transaction ends: no lease is granted, to nobody. It is refused while a lease is
// held, and then the transaction can go on. It creates the row of a lock that has none.
func TestLockInTxHoldsTheLockUntilTheTransactionEnds(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	locker := goLocker(t, db)
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		var before, after string
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT set_config('lock_timeout', '7s', true)").Scan(&before))
		_, err = tx.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly')")
		require.NoError(t, err)
		require.NoError(t, tx.QueryRowContext(t.Context(), "SHOW lock_timeout").Scan(&after))
		assert.Equal(t, before, after, "the caller's lock_timeout is unchanged")
		_, err = locker.TryAcquire(t.Context(), "nightly")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		require.NoError(t, end(tx))
		lease, err := locker.Acquire(t.Context(), "nightly")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly')")
		assert.Equal(t, "55P03", sqlerror.State(err))
		require.NoError(t, lease.Renew(t.Context()), "the refused transaction does not keep the holder from renewing")
		require.NoError(t, lease.Release(t.Context()))
	}
}

// lock_in_tx waits for the lock, and not longer than the caller says.
func TestLockInTxWaits(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	a := tryAcquire(t, db, "nightly", "1 min")
	began := time.Now()
	_, err := db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly', '200 ms')")
	assert.Equal(t, "55P03", sqlerror.State(err))
	assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	done := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly', '1 min')")
		done <- err
	}()
	require.True(t, within(time.Minute, func() bool { return running(t, db) }), "it waits")
	require.True(t, release(t, db, "nightly", a))
	require.NoError(t, <-done)
}

// After a restart alone, lock_in_tx works and writes nothing into the row that all locks share. After a change of the
// server, it is refused until try_acquire has begun the quarantine, and until the quarantine is over.
func TestTheEpochOfTheServerIsRespected(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	a := tryAcquire(t, db, "first", "1 min")
	require.Equal(t, "granted", a.verdict)
	exec(t, db, "UPDATE rowlock_lease_meta SET epoch = left(epoch, -16) || '0000000000000000'")
	_, err := db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly')")
	require.NoError(t, err)
	assert.Equal(t, 1, count(t, db, "SELECT count(*) FROM rowlock_lease_meta WHERE epoch LIKE '%/0000000000000000'"))
	require.Equal(t, "granted", tryAcquire(t, db, "second", "1 min").verdict, "a restart delays nothing")
	assert.Zero(t, count(t, db, "SELECT count(*) FROM rowlock_lease_meta WHERE epoch LIKE '%/0000000000000000'"))

	exec(t, db, "UPDATE rowlock_lease_meta SET epoch = '1' || left(epoch, -16) || '0000000000000000'")
	_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly')")
	assert.Equal(t, "55P03", sqlerror.State(err))
	assert.Equal(t, "quarantine", tryAcquire(t, db, "third", "1 min").verdict)
	_, err = db.ExecContext(t.Context(), "SELECT rowlock_lease_lock_in_tx('nightly')")
	require.ErrorContains(t, err, "quarantine")
	exec(t, db, "UPDATE rowlock_lease_meta SET quarantined_until = '-infinity'")
	assert.Equal(t, "granted", tryAcquire(t, db, "third", "1 min").verdict)
}

// running reports whether a session sleeps in the database.
func running(t *testing.T, db *sql.DB) bool {
	t.Helper()
	return count(t, db, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") > 0
}
