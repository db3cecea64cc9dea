package rowlock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 2 of docs/guarantees.md: a local timer ends trust. In this test the reply to a renewal comes just before the
// deadline, while the scheduler notices the deadline. Either the lease is lost, or the lease continues and its deadline
// is still checked.
func TestAReplyBesideTheDeadlineLeavesNoLeaseUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 3 * time.Second
		store := memlock.New()
		l, err := newLocker(store, clock.System, []Option{TTL(ttl)})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		var leases [2]*Lease
		for i, name := range []string{"a", "b"} {
			leases[i], err = l.Acquire(t.Context(), name)
			require.NoError(t, err)
		}
		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{LoseRequest: true} })

		time.Sleep(ttl / 2)
		sent := clock.System()
		time.Sleep(ttl / 3)
		arrived := clock.System()
		for i, le := range leases {
			le.mu.Lock()
			end := le.ctx.end
			le.ctx.end = func(cause error) { // when the scheduler ends one lease, this function first confirms a renewal of the other lease
				leases[1-i].confirm(sent, arrived, ttl)
				end(cause)
			}
			le.mu.Unlock()
		}
		for _, le := range leases {
			select {
			case <-le.Context().Done():
				require.ErrorIs(t, context.Cause(le.Context()), ErrLost)
			case <-time.After(time.Minute):
				assert.Fail(t, "the deadline was not enforced")
			}
		}
	})
}

// latched returns a lease that was just marked as lost. Its context has not ended yet, and no event was emitted.
func latched(t *testing.T, opts ...Option) (l *Locker, lease *Lease) {
	t.Helper()
	l, err := newLocker(memlock.New(), clock.System, append(opts, TTL(3*time.Second)))
	require.NoError(t, err)
	lease, err = l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	synctest.Wait() // the scheduler has checked the lease, and sleeps
	lease.mu.Lock()
	defer lease.mu.Unlock()
	lease.err = lease.lost(LostExpired)
	return l, lease
}

// The cause of the lease's context is the event that ended the lease, even if Release is called between the loss and
// the report of the loss.
func TestCauseOfALossThatReleaseOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, lease := latched(t)
		defer func() { _ = l.Close() }()
		require.ErrorIs(t, lease.Release(t.Context()), ErrLost)
		require.ErrorIs(t, context.Cause(lease.Context()), ErrLost)
		lease.ended()
	})
}

// Promise 13 of docs/guarantees.md: after Close no goroutine remains, and no new goroutine starts. If a lease is lost
// at the same time, the loss is still reported once.
func TestALossThatCloseOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		l, lease := latched(t, Tracing(&Trace{Lost: func(LostEvent) { told++ }}))
		require.ErrorIs(t, l.Close(), ErrLost)
		lease.ended()
		assert.False(t, l.renewals.running, "a goroutine was started")
		assert.Equal(t, 1, told)
	})
}
