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

// loaded is a store under load. The field work is the time that the store needs to renew a thousand leases. The store
// applies all requests at the same time, so concurrent requests slow each other down. Like a server, the store also
// finishes requests whose callers have given up.
type loaded struct {
	driver.Backend

	work time.Duration

	running sync.WaitGroup
	mu      sync.Mutex
	active  int // requests in progress
	calls   int
}

func (s *loaded) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	done := make(chan struct{})
	s.underWay(1)
	s.running.Go(func() {
		defer close(done)
		const tick = 100 * time.Millisecond
		for left := s.work * time.Duration(len(grants)) / 1000; left > 0; left -= tick / time.Duration(s.underWay(0)) {
			time.Sleep(tick)
		}
		s.underWay(-1)
	})
	select {
	case <-done:
		return s.Backend.Renew(ctx, grants)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// underWay adds change to the number of requests in progress, and returns the new number.
func (s *loaded) underWay(change int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active += change
	s.calls += max(change, 0)
	return s.active
}

func (s *loaded) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Promise 11 of docs/guarantees.md: ten thousand leases need at most twenty renewal requests in each interval. It does
// not matter whether the leases were acquired one after another or all at once. The leases stay held even if the
// renewals take the store most of the interval.
func TestTenThousandLeasesOnALoadedStore(t *testing.T) {
	const leases = 10_000
	for work, apart := range map[time.Duration]time.Duration{20 * time.Millisecond: 5 * time.Millisecond, 800 * time.Millisecond: 0} {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			s := &loaded{Backend: store, work: work}
			t.Cleanup(s.running.Wait)
			l := locker(t, s)
			held := make([]*rowlock.Lease, leases)
			for i := range held {
				held[i] = acquire(t, l, fmt.Sprint(i))
				time.Sleep(apart)
			}
			time.Sleep(10 * time.Second)
			before := s.asked()
			const intervals = 3
			time.Sleep(intervals * 10 * time.Second)
			for _, lease := range held {
				require.NoError(t, lease.Err())
			}
			each := float64(s.asked()-before) / intervals
			t.Logf("%s for a thousand: %.1f requests in each interval", work, each)
			assert.LessOrEqual(t, each, float64(leases)/500)
		})
	}
}
