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
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// onOne opens backends on one server.
func onOne(t *testing.T) (open func() driver.Backend, servers []*redis.Client) {
	t.Helper()
	s := start(t)
	return func() driver.Backend {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = c.Close() })
		return redislock.New(c)
	}, []*redis.Client{connect(t, s.Addr)}
}

// contest has callers of so many lockers, each with a client of its own as in a process of its own, acquire, hold for a
// millisecond and release, until so many leases were granted. It returns how often each locker was served and how many requests each
// lease took.
func contest(t *testing.T, open func() driver.Backend, servers []*redis.Client, processes, callers, grants int) (served []int, requests float64) {
	t.Helper()
	served = make([]int, processes)
	lockers := make([]*rowlock.Locker, processes)
	for i := range lockers {
		l, err := rowlock.New(open())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		lockers[i] = l
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
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
						for _, c := range servers {
							resetRuns(t, c)
						}
						clear(served)
						before = total
					}
					served[i]++
					if total == grants {
						for _, c := range servers {
							counted += scriptRuns(t, c)
						}
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
	open, servers := onOne(t)
	served, requests := contest(t, open, servers, 8, 1, 400)
	t.Logf("served %v, %.1f requests for each", served, requests)
	total := 0
	for _, n := range served {
		total += n
	}
	assert.GreaterOrEqual(t, slices.Min(served), total/len(served)/2)
}

// Promise 9: the same of two hundred processes, which are more than wait in most places.
func TestNobodyStarvesOfTwoHundred(t *testing.T) {
	open, servers := onOne(t)
	served, _ := contest(t, open, servers, 200, 1, 2000)
	slices.Sort(served)
	t.Logf("served %v", served)
	assert.GreaterOrEqual(t, served[0], 1500/200/2)
}

// Promise 9: a thousand waiters in eight processes cost no more than three requests a hand-over.
func TestAThousandWaiters(t *testing.T) {
	open, servers := onOne(t)
	served, requests := contest(t, open, servers, 8, 125, 1000)
	t.Logf("served %v, %.1f requests for each", served, requests)
	assert.LessOrEqual(t, requests, 3.0)
}
