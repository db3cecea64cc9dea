package fence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// withoutEpochs grants shared leases without a token, as package advisory does.
type withoutEpochs struct{ *memlock.Backend }

func (b withoutEpochs) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.Backend.Acquire(ctx, r)
	if r.Shared {
		g.Token = 0
	}
	return g, err
}

// A shared lease without a token cannot be fenced. Every method of the guard rejects it, and the error names the lock
// and the store. The lease continues.
func TestASharedLeaseWithoutATokenIsRejected(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(withoutEpochs{memlock.New()})
		require.NoError(t, err)
		defer func() { require.NoError(t, locker.Close()) }()
		const want = `the lease on "a" is shared and has no token, because memlock keeps none for readers`
		_, err = locker.Acquire(t.Context(), "a", rowlock.Shared(), rowlock.Fenced(s.guard))
		require.ErrorContains(t, err, want)

		lease, err := locker.Acquire(t.Context(), "a", rowlock.Shared())
		require.NoError(t, err)
		require.ErrorContains(t, s.guard.Seal(t.Context(), lease), want)
		require.ErrorContains(t, s.guard.Claim(t.Context(), lease), want)
		require.ErrorContains(t, s.guard.Tx(lease.Context(), func(context.Context, *sql.Tx) error { panic("not to be called") }), want)
		require.ErrorContains(t, s.guard.Check(lease.Context(), s.begin(t, sql.LevelDefault)), want)
		require.NoError(t, lease.Err())
		require.NoError(t, lease.Release(t.Context()))
	})
}
