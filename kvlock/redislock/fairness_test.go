package redislock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// contest has callers of eight lockers, each with a client of its own as in a process of its own, acquire, hold for a
// millisecond and release, until so many leases were granted. It returns how often each locker was served and how many requests each
// lease took.
func contest(t *testing.T, callers, grants int) (served []int, requests float64) {
	t.Helper()
	s := start(t)
	counter := connect(t, s.Addr)
	const processes = 8
	served = make([]int, processes)
	lockers := make([]*rowlock.Locker, processes)
	for i := range lockers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = c.Close() })
		l, err := rowlock.New(redislock.New(c))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		lockers[i] = l
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	total, counted, before := 0, 0, 0
	for i, l := range lockers {
		for range callers {
			wg.Go(func() {
				for ctx.Err() == nil {
					lease, err := l.Acquire(ctx, "contended")
					if ctx.Err() != nil || !assert.NoError(t, err) {
						if lease != nil {
							assert.NoError(t, lease.Release(t.Context()))
						}
						return
					}
					mu.Lock()
					if total++; total == grants/4 { // all are there
						resetRuns(t, counter)
						clear(served)
						before = total
					}
					served[i]++
					if total == grants {
						counted = scriptRuns(t, counter)
						cancel()
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
					assert.NoError(t, lease.Release(t.Context()))
				}
			})
		}
	}
	wg.Wait()
	require.GreaterOrEqual(t, total, grants)
	return served, float64(counted) / float64(grants-before)
}

// Promise 9: of eight processes that want one name again and again nobody starves: the least served gets half of its share or more.
func TestNobodyStarves(t *testing.T) {
	served, requests := contest(t, 1, 400)
	t.Logf("served %v, %.1f requests for each", served, requests)
	total := 0
	for _, n := range served {
		total += n
	}
	assert.GreaterOrEqual(t, slices.Min(served), total/len(served)/2)
}

// Promise 9: a thousand waiters in eight processes cost no more than three requests a hand-over.
func TestAThousandWaiters(t *testing.T) {
	served, requests := contest(t, 125, 1000)
	t.Logf("served %v, %.1f requests for each", served, requests)
	assert.LessOrEqual(t, requests, 3.0)
}
