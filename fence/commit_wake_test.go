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
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// On Postgres, the commit of ReleaseOnCommit notifies the oldest waiter and briefly reserves the lock for it.
// A transaction that rolls back does not notify waiters.
func TestReleaseOnCommitCallsWhoWaits(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		s := e.fresh(t)
		if s.dialect != migrations.Postgres {
			continue // the other databases do not notify waiters
		}
		s.keepLocks()
		lease := s.sealed(t)
		woken := make(chan struct{}, 10)
		waiting := sqllock.Postgres(s.db)
		stop, err := waiting.Notify(t.Context(), driver.Key{Name: "r"}, func() { woken <- struct{}{} })
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			return s.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 1
		}, 20*time.Second, 5*time.Millisecond, "it listens")
		for len(woken) > 0 {
			<-woken // the first message only confirms that the connection listens
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
}
