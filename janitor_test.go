package rowlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// slowly is a store that takes a second for a release, and an hour for a release of the name "stuck".
type slowly struct {
	*memlock.Backend

	mu   sync.Mutex
	now  int
	most int // the largest number of concurrent releases
}

func (s *slowly) Release(ctx context.Context, g driver.Grant) error {
	s.count(1)
	defer s.count(-1)
	limit := time.Second
	if g.Key.Name == "stuck" {
		limit = time.Hour
	}
	select {
	case <-time.After(limit):
		return s.Backend.Release(ctx, g)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowly) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += n
	s.most = max(s.most, s.now)
}

// Promise 9 of docs/guarantees.md: a release in the background wakes the waiter of its process, even if the store sends
// no notification.
func TestAReleaseInTheBackgroundWakesTheWaiter(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		freed := make(chan time.Time, 1)
		l := locker(t, deaf{store}, rowlock.Tracing(&rowlock.Trace{Resolved: func(e rowlock.ResolvedEvent) {
			assert.True(t, e.Freed)
			freed <- time.Now()
		}}))
		lease := acquire(t, l, "a")
		time.Sleep(10 * time.Second) // after this time the waiter polls rarely
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {Fail: errSpoiled}})
		require.ErrorIs(t, lease.Release(background), rowlock.ErrUnknown)
		next := waitFor(t, l, background)
		faults(store, nil)
		got := receive(t, next)
		since := time.Now()
		require.NoError(t, got.err)
		assert.Zero(t, since.Sub(<-freed), "woken, and not by a poll")
		require.NoError(t, got.lease.Release(background))
	})
}

// Promise 5 of docs/guarantees.md: the grants of many callers that gave up are released at the same time, by a limited
// number of requests. A request that hangs does not block the other requests.
func TestManyGrantsAreReleasedAtTheSameTime(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		const many = 30
		s := &slowly{Backend: store}
		l := locker(t, s)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseReply: true}})
		ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		var given sync.WaitGroup
		for i := range many {
			given.Go(func() {
				_, err := l.Acquire(ctx, fmt.Sprint(i))
				assert.ErrorIs(t, err, rowlock.ErrUnavailable)
			})
		}
		given.Go(func() { _, _ = l.Acquire(ctx, "stuck") })
		given.Wait()
		faults(store, nil)
		time.Sleep(8 * time.Second)
		for i := range many {
			_, err := locker(t, store).TryAcquire(background, fmt.Sprint(i))
			require.NoError(t, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.Greater(t, s.most, 1)
		assert.LessOrEqual(t, s.most, 8)
	})
}
