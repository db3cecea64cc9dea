package sqlfunctions_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
)

// A Go process that waits gets the lock soon after a SQL session has released it: the release reserves the lock for
// that process, and notifies it.
func TestAGoWaiterWakesSoonAfterASQLRelease(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	locker := goLocker(t, db)
	a := tryAcquire(t, db, "nightly", "10 min")
	exec(t, db, "UPDATE rowlock_lease SET acquired_at = acquired_at - interval '1 day'") // a waiter polls less often if the lock has been held for long
	type result struct {
		lease *rowlock.Lease
		err   error
	}
	got := make(chan result, 1)
	go func() {
		lease, err := locker.Acquire(t.Context(), "nightly")
		got <- result{lease, err}
	}()
	require.True(t, within(time.Minute, func() bool {
		return count(t, db, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> '' AND nonce IS NOT NULL") == 1
	}), "it waits and listens")
	assert.Equal(t, 1, count(t, db, "SELECT waiters FROM rowlock_lease_locks WHERE name = 'nightly'"))
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	tx, err := conn.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, release(t, tx, "nightly", a))
	assert.Equal(t, 1, count(t, db, "SELECT count(*) FROM rowlock_lease WHERE nonce IS NOT NULL"), "not before the commit")
	var reserved int
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM rowlock_lease l JOIN rowlock_lease_waiter w ON l.reserved_for = w.id").Scan(&reserved))
	assert.Equal(t, 1, reserved, "the release has reserved the lock for the waiter")
	released := time.Now()
	require.NoError(t, tx.Commit())
	r := <-got
	require.NoError(t, r.err)
	t.Logf("granted %v after the commit", time.Since(released))
	assert.Greater(t, int64(r.lease.Token()), a.token)
	require.NoError(t, r.lease.Release(t.Context()))
}

// The procedure waits until the lock is free, and not longer than the caller says. Afterwards it is no waiter any more.
func TestAcquireWaitsAndIsBounded(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	locker := goLocker(t, db)
	lease, err := locker.TryAcquire(t.Context(), "nightly")
	require.NoError(t, err)
	call := func(wait string) (a answer, err error) {
		var freeIn sql.NullString
		err = db.QueryRowContext(context.Background(), "CALL rowlock_lease_acquire('nightly', '"+wait+"', '1 min', held_by => '')").
			Scan(&a.nonce, &a.verdict, &a.token, &a.heldBy, &freeIn)
		return a, err
	}
	for wait, least := range map[string]time.Duration{"0": 0, "300 ms": 300 * time.Millisecond} {
		began := time.Now()
		a, err := call(wait)
		require.NoError(t, err)
		assert.Equal(t, "leased", a.verdict)
		assert.GreaterOrEqual(t, time.Since(began), least)
		assert.Zero(t, count(t, db, "SELECT count(*) FROM rowlock_lease_waiter"))
	}
	type result struct {
		a   answer
		err error
	}
	got := make(chan result, 1)
	go func() {
		var r result
		var freeIn, heldBy sql.NullString
		r.err = db.QueryRowContext(context.Background(), "CALL rowlock_lease_acquire('nightly', '1 min', '1 min')").
			Scan(&r.a.nonce, &r.a.verdict, &r.a.token, &heldBy, &freeIn)
		got <- r
	}()
	require.True(t, within(time.Minute, func() bool { return count(t, db, "SELECT count(*) FROM rowlock_lease_waiter") == 1 }), "it waits")
	require.NoError(t, lease.Release(t.Context()))
	r := <-got
	require.NoError(t, r.err)
	require.Equal(t, "granted", r.a.verdict)
	assert.Greater(t, r.a.token, int64(lease.Token()))
	assert.Zero(t, count(t, db, "SELECT count(*) FROM rowlock_lease_waiter"))
	assert.True(t, release(t, db, "nightly", r.a))
}

// A release by a Go process reserves the lock for a SQL session that has waited longest.
func TestAReleaseReservesTheLockForASQLWaiter(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	locker := goLocker(t, db)
	lease, err := locker.TryAcquire(t.Context(), "nightly")
	require.NoError(t, err)
	const poll = "SELECT verdict FROM rowlock_lease_try_acquire('nightly', '1 min', waiter => $1)"
	waiter := driver.NewNonce().String()
	var verdict string
	require.NoError(t, db.QueryRowContext(t.Context(), poll, waiter).Scan(&verdict))
	require.Equal(t, "leased", verdict)
	require.NoError(t, lease.Release(t.Context()))
	exec(t, db, "UPDATE rowlock_lease SET held_until = held_until + interval '1 min'") // the reservation lasts until the test has looked
	_, err = locker.TryAcquire(t.Context(), "nightly")
	require.ErrorIs(t, err, rowlock.ErrHeld)
	require.NoError(t, db.QueryRowContext(t.Context(), poll, waiter).Scan(&verdict))
	assert.Equal(t, "granted", verdict)
}

// The procedure fails inside a transaction, before it has tried to acquire.
func TestAcquireRefusesToRunInATransaction(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "CALL rowlock_lease_acquire('nightly', '1 min', '1 min')")
	assert.Equal(t, "2D000", sqlerror.State(err), "%v", err)
	require.NoError(t, tx.Rollback())
	assert.Zero(t, count(t, db, "SELECT count(*) FROM rowlock_lease"))
}
