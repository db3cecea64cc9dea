package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// On Postgres, the commit of ReleaseOnCommit notifies the oldest waiter and briefly reserves the lock for it.
// A transaction that rolls back does not notify waiters.
func TestReleaseOnCommitCallsWhoWaits(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	s.keepLocks()
	lease := s.sealed(t)
	woken := make(chan struct{}, 10)
	waiting := sqllock.Postgres(s.db)
	stop, err := waiting.Notify(t.Context(), driver.Key{Name: "r"}, func() { woken <- struct{}{} })
	require.NoError(t, err)
	s.hears(t, waiting)
	for len(woken) > 0 {
		<-woken // a waiter is also woken when its connection begins to listen
	}
	wrong := errors.New("wrong")
	require.ErrorIs(t, s.guard.ReleaseOnCommit(lease.Context(), func(context.Context, *sql.Tx) error { return wrong }), wrong)
	assert.Empty(t, woken)
	require.NoError(t, s.guard.ReleaseOnCommit(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) }))
	select {
	case <-woken:
	case <-time.After(20 * time.Second):
		assert.Fail(t, "no waiter was notified")
	}
	assert.Equal(t, int64(1), s.int(t, "SELECT count(*) FROM rowlock_lease WHERE nonce IS NULL AND reserved_for = (SELECT id FROM rowlock_lease_waiter)"))
	stop()
	waiting.CloseIdle(t.Context())
}

// hears waits until the backend's connection listens, and until the waiters know it.
func (s *store) hears(t *testing.T, b *sqllock.Backend) {
	t.Helper()
	heard := make(chan struct{}, 100)
	stop, err := b.Notify(t.Context(), driver.Key{Name: "hears"}, func() { heard <- struct{}{} })
	require.NoError(t, err)
	defer stop()
	for range 2 { // the first wake-up may come from the connection that begins to listen
		require.Eventually(t, func() bool {
			_, err := s.db.ExecContext(t.Context(), "SELECT pg_notify(channel, id::text) FROM rowlock_lease_waiter WHERE name = 'hears' AND channel <> ''")
			require.NoError(t, err)
			return len(heard) > 0
		}, time.Minute, 5*time.Millisecond)
		<-heard
	}
}
