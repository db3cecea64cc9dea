package fence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
)

// If Postgres ended a transaction because it idled, the error of the next statement or of the commit says so.
// Tx does not run the transaction again, because it would idle again.
func TestATransactionThatIdledTooLong(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, _ *rowlock.Lease) {
		lease := leaseFrom(t, l.locks, "r", rowlock.TTL(3*time.Second))
		require.NoError(t, l.guard.Seal(t.Context(), lease))
		for _, atCommit := range []bool{false, true} {
			runs := 0
			err := l.tx(lease.Context(), func(_ context.Context, do execute) error {
				runs++
				if err := do(increment); err != nil {
					return err
				}
				require.Eventually(t, func() bool {
					return l.int(t, `SELECT count(*) FROM pg_stat_activity
						WHERE datname = current_database() AND state = 'idle in transaction'`) == 0
				}, waitLimit, waitStep)
				if atCommit {
					return nil
				}
				return do(increment)
			})
			require.ErrorContains(t, err, "idled for longer than its lease was trusted", "at commit: %v", atCommit)
			require.NotErrorIs(t, err, fence.ErrRetry)
			assert.Equal(t, 1, runs)
			assert.Zero(t, l.count(t))
		}
	}, "postgres", "pgx")
}
