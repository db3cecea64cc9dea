package rowlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 9 of docs/guarantees.md: waiters of one process acquire the name in order of arrival, and only the first
// waiter sends requests.
func TestWaitersAreServedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		first := acquire(t, l, "a")
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				lease, err := l.Acquire(background, "a")
				if assert.NoError(t, err) {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					assert.NoError(t, lease.Release(background))
				}
			})
			synctest.Wait() // the waiters arrive in this order
		}
		before := store.Calls(memlock.OpAcquire)
		time.Sleep(10 * time.Second)
		assert.LessOrEqual(t, store.Calls(memlock.OpAcquire)-before, 21, "only one of twenty waiters polls, at most about twice a second")
		require.NoError(t, first.Release(background))
		wg.Wait()
		for i, got := range order {
			assert.Equal(t, i, got)
		}
	})
}

// Promise 9 of docs/guarantees.md: a release wakes a waiter of the same process. It also wakes a waiter of another
// process if the store can notify that process.
func TestReleaseWakesTheWaiter(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("other process %v", other), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				held, waiter := acquire(t, l, "a"), l
				if other {
					waiter = locker(t, store)
				}
				next := waitFor(t, waiter, background)
				time.Sleep(time.Minute + time.Millisecond)
				synctest.Wait()
				require.NoError(t, held.Release(background))
				released := time.Now()
				require.NoError(t, (<-next).err)
				assert.Zero(t, time.Since(released))
			})
		})
	}
}

// teller is a store that counts subscriptions. The field asked counts all subscriptions, and the field told counts the
// active ones.
type teller struct {
	*memlock.Backend
	asked, told atomic.Int32
}

func (s *teller) Notify(ctx context.Context, key driver.Key, wake func()) (func(), error) {
	stop, err := s.Backend.Notify(ctx, key, wake)
	s.asked.Add(1)
	s.told.Add(1)
	return func() { stop(); s.told.Add(-1) }, err
}

// Promise 9 of docs/guarantees.md: the waiters of one process for one name share a subscription, which ends with the
// last waiter. On average, each of these waiters sends fewer than 2.5 requests to acquire the name.
func TestWaitersShareTheirWakeUps(t *testing.T) {
	bubble(t, func(t *testing.T, mem *memlock.Backend) {
		store := &teller{Backend: mem}
		l := locker(t, store)
		first, other := acquire(t, l, "a"), locker(t, mem)
		const waiters = 20
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() {
				lease, err := l.Acquire(background, "a")
				if assert.NoError(t, err) {
					time.Sleep(time.Millisecond)
					assert.NoError(t, lease.Release(background))
				}
			})
		}
		synctest.Wait()
		before := mem.Calls(memlock.OpAcquire)
		require.NoError(t, first.Release(background))
		wg.Wait()
		assert.Less(t, mem.Calls(memlock.OpAcquire)-before, waiters*5/2)
		assert.EqualValues(t, 1, store.asked.Load())
		assert.Zero(t, store.told.Load())

		held := acquire(t, other, "a") // a waiter that comes after the end of the subscription subscribes again
		go func() { time.Sleep(time.Minute); assert.NoError(t, held.Release(background)) }()
		next, waited := acquireWithin(t, time.Hour, l, "a")
		require.NoError(t, next.Release(background))
		assert.Equal(t, time.Minute, waited)
		assert.EqualValues(t, 2, store.asked.Load())
		assert.Zero(t, store.told.Load())
	})
}

// deaf is a store whose notifications are all lost.
type deaf struct{ *memlock.Backend }

func (deaf) Notify(context.Context, driver.Key, func()) (func(), error) { return func() {}, nil }

// mute is a store whose Notify fails.
type mute struct{ *memlock.Backend }

func (mute) Notify(context.Context, driver.Key, func()) (func(), error) {
	return nil, fmt.Errorf("no connection left")
}

// Promise 9 of docs/guarantees.md: if a notification is lost, the waiter acquires the lock by its next poll.
func TestLostWakeUpCostsAPoll(t *testing.T) {
	for name, wrap := range map[string]func(*memlock.Backend) driver.Backend{
		"lost":   func(b *memlock.Backend) driver.Backend { return deaf{b} },
		"failed": func(b *memlock.Backend) driver.Backend { return mute{b} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				held := acquire(t, locker(t, store), "a")
				l, err := rowlock.New(wrap(store))
				require.NoError(t, err)
				t.Cleanup(func() { _ = l.Close() })
				next := waitFor(t, l, background)
				time.Sleep(time.Minute)
				require.NoError(t, held.Release(background))
				released := time.Now()
				require.NoError(t, (<-next).err)
				assert.LessOrEqual(t, time.Since(released), 1500*time.Millisecond)
			})
		})
	}
}

// A waiter sends a request at the instant when the lease of a dead holder ends.
func TestDeadHoldersNameIsTakenWhenItsLeaseEnds(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		_, err := store.Acquire(t.Context(), driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: 10 * time.Second})
		require.NoError(t, err)
		_, waited := acquireWithin(t, time.Hour, locker(t, store), "a")
		assert.InDelta(t, 10*time.Second, waited, float64(10*time.Millisecond))
	})
}

// The ctx of a call limits only the wait. If ctx ends the wait, the error matches both ErrHeld and the error of ctx.
func TestContextBoundsTheWaitingOnly(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		ctx, cancel := context.WithTimeout(background, time.Minute)
		lease, err := l.Acquire(ctx, "a", rowlock.Holder("me"))
		require.NoError(t, err)
		start := time.Now()
		_, err = l.Acquire(ctx, "a")
		assert.Equal(t, time.Minute, time.Since(start))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, "me", held.Holder)
		assert.Equal(t, time.Minute, held.Waited)
		cancel()
		time.Sleep(10 * ttl)
		require.NoError(t, lease.Err(), "the lease outlives the ctx that acquired it")
		_, err = l.Acquire(ctx, "free")
		require.ErrorIs(t, err, context.DeadlineExceeded, "a ctx that is done fails even on a free name")
		assert.NotErrorIs(t, err, rowlock.ErrHeld)
	})
}

// The option Wait limits the wait of every waiter, even of a waiter that never became the first in the queue.
func TestWaitBoundsTheWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		acquire(t, l, "a", rowlock.Holder("me"), rowlock.Note("for a while"))
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				start := time.Now()
				_, err := l.Acquire(background, "a", rowlock.Wait(time.Minute))
				assert.Equal(t, time.Minute, time.Since(start))
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				var held *rowlock.HeldError
				if assert.ErrorAs(t, err, &held, "waiter %d", i) {
					assert.Equal(t, "me", held.Holder)
					assert.Equal(t, "for a while", held.Note)
				}
			})
		}
		wg.Wait()
		start := time.Now()
		_, err := l.Acquire(background, "a", rowlock.Wait(0))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		assert.Zero(t, time.Since(start))
	})
}

// Promise 10 of docs/guarantees.md: if the store hangs, the call ends within its limits. The error is not ErrHeld.
func TestHangingStoreEndsTheCall(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseRequest: true}})
		for call, limit := range map[string]time.Duration{"TryAcquire": 5 * time.Second, "Acquire": 36 * time.Second} {
			start := time.Now()
			var err error
			if call == "TryAcquire" {
				_, err = l.TryAcquire(background, "a")
			} else {
				_, err = l.Acquire(background, "a")
			}
			require.ErrorIs(t, err, rowlock.ErrUnavailable, call)
			assert.NotErrorIs(t, err, rowlock.ErrHeld)
			assert.LessOrEqual(t, time.Since(start), limit, call)
		}
	})
}

// If a retry cannot fix an error, the call returns the error at once, with its cause.
func TestAPermanentFailureIsReturnedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		cause := fmt.Errorf("the table is missing")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Fail: driver.Permanent(cause)}})
		start := time.Now()
		_, err := locker(t, store).Acquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		require.ErrorIs(t, err, cause)
		assert.Zero(t, time.Since(start))
		assert.Zero(t, store.Calls(memlock.OpRelease), "nothing must be released")
	})
}

// Close ends every wait, releases every lease, and ends every goroutine.
func TestCloseReleasesAndEndsWaits(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		var leases []*rowlock.Lease
		for i := range 100 {
			leases = append(leases, acquire(t, l, fmt.Sprint(i)))
		}
		var ended atomic.Int32
		for i := range 10 {
			go func() {
				_, err := l.Acquire(background, fmt.Sprint(i%5))
				assert.ErrorIs(t, err, rowlock.ErrClosed)
				ended.Add(1)
			}()
		}
		synctest.Wait()
		start := time.Now()
		require.NoError(t, l.Close())
		assert.Zero(t, time.Since(start))
		synctest.Wait()
		assert.EqualValues(t, 10, ended.Load())
		for _, lease := range leases {
			require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
		}
		for _, status := range list(t, store) {
			assert.Equal(t, driver.StateFree, status.State)
		}
		_, err := l.TryAcquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrClosed)
		require.NoError(t, l.Close(), "closing again")
	})
}

// If the store hangs, Close returns after a limited time. Its error names the leases that it could not release.
func TestCloseIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		for i := range 10 {
			acquire(t, l, fmt.Sprint(i))
		}
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {LoseRequest: true}})
		start := time.Now()
		require.ErrorIs(t, l.Close(), rowlock.ErrUnknown)
		assert.LessOrEqual(t, time.Since(start), time.Minute)
		t.Log("closed in", time.Since(start))
	})
}

func list(t *testing.T, store *memlock.Backend) []driver.Status {
	t.Helper()
	all, err := store.List(t.Context(), "", true)
	require.NoError(t, err)
	return all
}
