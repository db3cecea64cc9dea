package fence_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
)

// If the database cannot be reached, the error of Seal is a rowlock.ErrUnavailable that names the operation and the
// lock. If the database has answered, the error is not a rowlock.ErrUnavailable.
func TestASealWithoutAnAnswer(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, _ *rowlock.Lease) {
		lease := l.lease(t, "r")
		l.proxy.Close()
		err := l.guard.Seal(t.Context(), lease, "data")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		require.NotErrorIs(t, err, fence.ErrRetry)
		assert.ErrorContains(t, err, `fence: seal ["data"] for the lock "r": `)
		require.ErrorContains(t, l.guard.Seal(t.Context(), lease), `fence: seal "r": `)
		l.direct.Store(true)
		require.NoError(t, l.guard.Seal(t.Context(), lease, "data"))
		newer := l.lease(t, "r")
		require.NoError(t, l.guard.Seal(t.Context(), newer, "data"))
		require.NotErrorIs(t, l.guard.Seal(t.Context(), lease, "data"), rowlock.ErrUnavailable)
		l.exec(t, "DROP TABLE rowlock_lease_fence")
		require.NotErrorIs(t, l.guard.Seal(t.Context(), newer, "data"), rowlock.ErrUnavailable)
	})
}
