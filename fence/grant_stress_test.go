package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/sqllock"
)

// Workers steal the lock from each other while the previous holders have open transactions. With grants that seal,
// no stale write is accepted and no worker misses a write, whatever the default isolation level of the sessions is.
// The test verifies that each row of the ledger was written by a worker that had seen all earlier rows.
func TestStolenLocksWithSealedGrants(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			const workers, rounds = 4, 15
			s := postgres.fresh(t)
			u, err := url.Parse(s.dsn)
			require.NoError(t, err)
			u.RawQuery += "&default_transaction_isolation=" + url.PathEscape(level)
			var group sync.WaitGroup
			var mu sync.Mutex
			wrote, refused := 0, 0
			for range workers {
				db := s.open(t, u.String())
				backend, guard := sqllock.Postgres(db), fence.Postgres(db)
				locker := lockerOn(t, backend, rowlock.Fenced(guard))
				group.Go(func() {
					for range rounds {
						lease, err := steal(t.Context(), locker, backend)
						if err == nil {
							err = guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
						}
						mu.Lock()
						if err == nil {
							wrote++
						} else {
							refused++
							assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, rowlock.ErrHeld) || errors.Is(err, rowlock.ErrUnavailable), "%v", err) // a slow server is unavailable
						}
						mu.Unlock()
					}
				})
			}
			group.Wait()
			assert.Positive(t, wrote)
			assert.False(t, s.violated(t))
			assert.EqualValues(t, wrote, s.int(t, "SELECT count(*) FROM ledger"))
			t.Logf("%d transactions committed, %d were rejected", wrote, refused)
		})
	}
}

// steal ends the current lease on "r" and acquires "r". The previous holder does not notice.
func steal(ctx context.Context, locker *rowlock.Locker, backend *sqllock.Backend) (*rowlock.Lease, error) {
	for try := 0; ; try++ {
		lease, err := locker.TryAcquire(ctx, "r")
		var held *rowlock.HeldError
		if err == nil || try == 20 || !errors.As(err, &held) {
			return lease, err
		}
		err = backend.ForceRelease(ctx, driver.Key{Name: "r"}, held.Token, true)
		if err != nil && !errors.Is(err, driver.ErrNotHeld) {
			return nil, err
		}
	}
}
