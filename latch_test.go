package rowlock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/memlock"
)

// A loss is reported once, even if Release is the first call that notices it. In this test the process was suspended
// until after the deadline, and no timer has fired.
func TestReleaseReportsALossByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paused atomic.Int64
		var lost []LostReason
		l, err := newLocker(memlock.New(), func() clock.Instant {
			i := clock.System()
			i.At = i.At.Add(time.Duration(paused.Load()))
			return i
		}, []Option{TTL(3 * time.Second), Tracing(&Trace{Lost: func(e LostEvent) { lost = append(lost, e.Reason) }})})
		require.NoError(t, err)
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		synctest.Wait() // the scheduler has checked the lease, and sleeps
		paused.Store(int64(time.Minute))
		require.ErrorIs(t, lease.Release(t.Context()), ErrLost)
		require.NoError(t, l.Close())
		require.Equal(t, []LostReason{LostExpired}, lost)
	})
}

// Promise 2 of docs/guarantees.md: a loss is final. In this test a process is suspended during a renewal until after
// the deadline. The reply arrives before any timer fires, and says that the store has extended the lease. The lease is
// lost nevertheless.
func TestAReplyAfterAPauseRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 3 * time.Second
		var paused atomic.Int64
		store := memlock.New()
		l, err := newLocker(store, func() clock.Instant {
			i := clock.System()
			i.At = i.At.Add(time.Duration(paused.Load())) // both clocks have advanced, and no timer has fired
			return i
		}, []Option{TTL(ttl), RenewEvery(ttl / 2)})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		time.Sleep(ttl / 3)
		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{Reply: 100 * time.Millisecond} })
		time.AfterFunc(50*time.Millisecond, func() { paused.Store(int64(2 * time.Second)) })
		require.ErrorIs(t, lease.Renew(t.Context()), ErrLost)
		require.ErrorIs(t, lease.Err(), ErrLost)
	})
}
