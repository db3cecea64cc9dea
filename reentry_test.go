package rowlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// A function of a Trace may call Release of the lease of its event, because the package holds no mutex during the call.
// The lease has already ended, so this Release returns the same result as the first one.
func TestATraceMayReleaseTheLeaseOfItsEvent(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		told := 0
		again := func(ctx context.Context, want error) {
			lease, ok := rowlock.FromContext(ctx)
			assert.True(t, ok)
			assert.ErrorIs(t, lease.Release(ctx), want)
			told++
		}
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{
			Lost:     func(e rowlock.LostEvent) { again(e.Context, rowlock.ErrLost) },
			Released: func(e rowlock.ReleasedEvent) { again(e.Context, e.Err) },
		}))
		require.NoError(t, acquire(t, l, "a").Release(background))
		lost := acquire(t, l, "a")
		store.Lose("a")
		require.ErrorIs(t, lost.Release(background), rowlock.ErrLost)
		assert.Equal(t, 3, told)
	})
}
