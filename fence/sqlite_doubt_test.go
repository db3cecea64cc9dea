package fence_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A seal, or a guarded transaction, that is given up at any moment, also when its BEGIN has just been carried out and
// its caller does not hear of it, leaves no connection in the pool that is inside of a transaction: that one would keep
// the file's write lock for ever.
func TestNothingGivenUpLeavesATransactionInThePool(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		if e.driver != "sqlite" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.db.SetMaxOpenConns(1)
			lease := s.lease(t, "job")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			for i := range 600 {
				ctx, cancel := context.WithTimeout(lease.Context(), time.Duration(i)*2*time.Microsecond)
				if i%2 == 0 {
					_ = s.guard.Seal(ctx, lease)
				} else {
					_ = s.guard.Tx(ctx, func(context.Context, *sql.Tx) error { return nil })
				}
				cancel()
				s.exec(t, "BEGIN")
				s.exec(t, "ROLLBACK")
			}
			require.NoError(t, s.guard.Seal(t.Context(), lease))
		})
	}
}
