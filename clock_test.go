package rowlock

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/memlock"
)

// skewed is a clock whose wall-clock reading was changed, or which reports that the machine was suspended.
type skewed struct{ wall, asleep atomic.Int64 }

func (s *skewed) now() clock.Instant {
	i := clock.Instant{At: time.Now(), Suspended: time.Duration(s.asleep.Load())}
	if wall := time.Duration(s.wall.Load()); wall != 0 {
		// Round(0) removes the monotonic part of this reading, so Since subtracts the wall-clock times. So the test can
		// simulate a wall clock that was set.
		i.At = i.At.Round(0).Add(wall)
	}
	return i
}

func heldOn(t *testing.T, clock *skewed) *Lease {
	t.Helper()
	l, err := newLocker(memlock.New(), clock.now, []Option{TTL(3 * time.Second)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	lease, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	return lease
}

// Promise 2 of docs/guarantees.md: when the wall clock shows a time after the deadline, trust ends, and each getter
// reports the loss at once. If the monotonic clock stops while a machine is suspended or restored from a snapshot, the
// wall clock shows the missing time.
func TestWallClockPastTheDeadlineEndsTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(skewed)
		lease := heldOn(t, clock)
		clock.wall.Store(int64(time.Minute))
		require.ErrorIs(t, lease.Context().Err(), context.Canceled, "the context reads the clocks")
		require.ErrorIs(t, lease.Err(), ErrLost)
		require.ErrorIs(t, context.Cause(lease.Context()), ErrLost)
	})
}

// Promise 2 of docs/guarantees.md: the time for which the machine was suspended also ends trust.
func TestSuspendPastTheDeadlineEndsTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(skewed)
		lease := heldOn(t, clock)
		clock.asleep.Store(int64(time.Minute))
		require.ErrorIs(t, lease.Err(), ErrLost)
	})
}

// Promise 2 of docs/guarantees.md: a holder that only waits for Done notices a clock jump within a second.
func TestClockJumpIsNoticedWithoutAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(skewed)
		lease := heldOn(t, clock)
		synctest.Wait() // waits until the scheduler sleeps
		clock.asleep.Store(int64(time.Minute))
		start := time.Now()
		<-lease.Context().Done()
		assert.LessOrEqual(t, time.Since(start), time.Second)
	})
}

// Promise 2 of docs/guarantees.md: a holder notices a clock jump within a second, even if the scheduler is waiting for
// the renewal of another lease.
func TestClockJumpIsNoticedBehindAnotherLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(skewed)
		l, err := newLocker(memlock.New(), clock.now, nil)
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		ends, err := l.Acquire(t.Context(), "ends", TTL(30*time.Minute), RenewEvery(10*time.Minute))
		require.NoError(t, err)
		lasts, err := l.Acquire(t.Context(), "lasts", TTL(10*time.Hour), RenewEvery(time.Minute))
		require.NoError(t, err)
		synctest.Wait()
		clock.asleep.Store(int64(time.Hour))
		start := time.Now()
		<-ends.Context().Done()
		assert.LessOrEqual(t, time.Since(start), time.Second)
		require.NoError(t, lasts.Err())
	})
}

// A wall clock that is set back neither prolongs nor ends a lease.
func TestWallClockSetBackChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := clock.System()
		back := start
		back.At = back.At.Add(time.Second) // changes both the monotonic and the wall-clock part of the reading
		earlier := clock.Instant{At: start.At.Round(0).Add(-time.Hour)}
		assert.Equal(t, time.Second, back.Since(start))
		assert.Negative(t, earlier.Since(start))
		lease := heldOn(t, new(skewed))
		time.Sleep(10 * time.Second)
		require.NoError(t, lease.Err())
	})
}

// Promise 2 of docs/guarantees.md: after a process was suspended beyond the deadline, its first call of a getter
// reports the loss, although no timer has fired.
func TestGettersAreNotLateAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paused atomic.Int64
		l, err := newLocker(memlock.New(), func() clock.Instant {
			i := clock.System()
			i.At = i.At.Add(time.Duration(paused.Load())) // both clocks have advanced, and no timer has fired
			return i
		}, []Option{TTL(3 * time.Second)})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		require.ErrorIs(t, l.Do(t.Context(), "a", func(ctx context.Context, lease *Lease) error {
			require.NoError(t, ctx.Err())
			paused.Store(int64(time.Minute))
			require.Error(t, ctx.Err(), "the context of Do")
			require.ErrorIs(t, context.Cause(ctx), ErrLost)
			require.Error(t, lease.Context().Err(), "the context of the lease")
			require.ErrorIs(t, lease.Err(), ErrLost)
			return nil
		}), ErrLost)
	})
}

// suspends is a store during whose renewals the machine is suspended.
type suspends struct {
	*memlock.Backend
	suspend func()
}

func (s suspends) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := s.Backend.Renew(ctx, grants)
	s.suspend()
	return outcomes, err
}

// Promise 2 of docs/guarantees.md: if the machine was suspended during a renewal and its reply comes after the
// deadline, the lease is lost, its context ends and the loss is reported, although the store has renewed the lease.
func TestSuspendDuringARenewalEndsTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(skewed)
		store := suspends{memlock.New(), func() { clock.asleep.Add(int64(time.Minute)) }}
		var lost atomic.Int64
		l, err := newLocker(store, clock.now, []Option{TTL(3 * time.Second), Tracing(&Trace{Lost: func(LostEvent) { lost.Add(1) }})})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		require.ErrorIs(t, lease.Renew(t.Context()), ErrLost)
		select {
		case <-lease.Context().Done():
		default:
			t.Error("the context has not ended")
		}
		synctest.Wait()
		assert.EqualValues(t, 1, lost.Load())
	})
}
