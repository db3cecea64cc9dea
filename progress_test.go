package rowlock_test

import (
	"context"
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

// Promise 5 of docs/guarantees.md: a waiter that gives up leaves its recorded request to the next waiter of the
// process. So the store withdraws nothing, and its grant goes to the next waiter. If the next waiter wants another
// grant, or if there is no next waiter, the request is withdrawn.
func TestAWaiterLeavesItsRecordedRequestToTheNext(t *testing.T) {
	for name, test := range map[string]struct {
		next      []rowlock.Option // nil if there is no next waiter
		withdrawn int
	}{
		"same request":  {[]rowlock.Option{rowlock.Wait(time.Hour)}, 0},
		"other request": {[]rowlock.Option{rowlock.Note("another")}, 1},
		"alone":         {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				b := &granting{Backend: store}
				lease := acquire(t, locker(t, b, rowlock.TTL(ttl)), "a")
				waiters := locker(t, b, rowlock.TTL(ttl))
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				got := waitFor(t, waiters, ctx)
				next := make(chan outcome, 1)
				if test.next != nil {
					go func() {
						lease, err := waiters.Acquire(background, "a", test.next...)
						next <- outcome{lease, err}
					}()
					synctest.Wait()
				}
				asked := b.asked
				cancel()
				require.ErrorIs(t, receive(t, got).err, context.Canceled)
				synctest.Wait()
				assert.Len(t, b.taken, test.withdrawn)
				if test.withdrawn == 0 {
					assert.Equal(t, asked, b.asked, "the next waiter sends no request before it is woken")
				}
				require.NoError(t, lease.Release(background))
				if test.next == nil {
					assert.Nil(t, b.given)
					return
				}
				won := receive(t, next)
				require.NoError(t, won.err)
				status, err := store.Inspect(background, driver.Key{Name: "a"})
				require.NoError(t, err)
				assert.Equal(t, won.lease.Token(), status.Token)
				require.NoError(t, won.lease.Release(background))
				assert.Zero(t, held(t, store))
			})
		})
	}
}

// Promise 5 of docs/guarantees.md: if all waiters of a process give up at the same time, in any order, no recorded
// request remains in the store.
func TestWaitersThatGiveUpTogetherLeaveNothing(t *testing.T) {
	for range 100 {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			b := &granting{Backend: store}
			lease := acquire(t, locker(t, b, rowlock.TTL(ttl)), "a")
			waiters := locker(t, b, rowlock.TTL(ttl))
			ctx, cancel := context.WithCancel(background)
			var all []chan outcome
			for range 5 {
				all = append(all, waitFor(t, waiters, ctx))
			}
			cancel()
			for _, got := range all {
				require.ErrorIs(t, receive(t, got).err, context.Canceled)
			}
			b.mu.Lock()
			assert.Nil(t, b.left)
			b.mu.Unlock()
			require.NoError(t, lease.Release(background))
			assert.Zero(t, held(t, store))
		})
	}
}

// called is a store whose notifications the test sends.
type called struct {
	*memlock.Backend

	wake func()
}

func (c *called) Notify(_ context.Context, _ driver.Key, wake func()) (func(), error) {
	c.wake = wake
	return func() {}, nil
}

// Promise 9 of docs/guarantees.md: if the waiter that a notification has woken gives up at the same moment, the next
// waiter is woken in its place, and acquires the free name at once.
func TestAWakeUpOfAWaiterThatGivesUpIsNotLost(t *testing.T) {
	for range 500 {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			b := &called{Backend: store}
			lease := acquire(t, locker(t, store), "a")
			waiters := locker(t, b)
			ctx, cancel := context.WithCancel(background)
			first, second := waitFor(t, waiters, ctx), waitFor(t, waiters, background)
			require.NoError(t, lease.Release(background))
			released := time.Now()
			cancel()
			b.wake()
			if receive(t, first).err != nil {
				require.NoError(t, receive(t, second).err)
			}
			assert.Zero(t, time.Since(released))
		})
	}
}

// A hand-over of a slot needs about as many requests as the hand-over of one name, however many slots there are: the
// winner leaves what it has reached at the other slots to the next waiter of its process.
func TestHandOversOfSlotsNeedFewRequests(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		const processes, waiters, rounds = 4, 10, 500
		names := rowlock.Slots("gpu", 4)
		var requests, grants atomic.Int64
		store.Intercept(func(memlock.Call) memlock.Fault {
			requests.Add(1)
			return memlock.Fault{}
		})
		var all sync.WaitGroup
		for range processes {
			l := locker(t, store)
			for range waiters {
				all.Go(func() {
					for grants.Add(1) <= rounds {
						lease, err := l.AcquireAny(background, names)
						if assert.NoError(t, err) {
							time.Sleep(time.Millisecond)
							assert.NoError(t, lease.Release(background))
						}
					}
				})
			}
		}
		all.Wait()
		t.Logf("%d requests for %d grants", requests.Load(), rounds)
		assert.Less(t, requests.Load(), int64(3*rounds))
	})
}
