package redistest

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var evals = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`)

// ScriptRuns returns how many scripts a server has run since ResetRuns.
func ScriptRuns(tb testing.TB, c *redis.Client) (runs int) {
	tb.Helper()
	text, err := c.Info(context.Background(), "commandstats").Result()
	must(tb, err)
	for _, m := range evals.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		must(tb, err)
		runs += n
	}
	return runs
}

// ResetRuns makes ScriptRuns count from zero.
func ResetRuns(tb testing.TB, c *redis.Client) {
	tb.Helper()
	must(tb, c.ConfigResetStat(context.Background()).Err())
}

// Contest simulates several processes, each with its own locker and client, and each with several callers. Every caller
// repeatedly acquires one lock, holds it for a millisecond, and releases it. Contest ends after the given number of
// grants. It returns how often each locker was granted the lock, and the average number of requests per lease.
func Contest(t *testing.T, open func() driver.Backend, servers []*redis.Client, processes, callers, grants int) (served []int, requests float64) {
	t.Helper()
	served = make([]int, processes)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	total, counted, before := 0, 0, 0
	for i := range processes {
		l := LockerOn(t, open())
		for range callers {
			wg.Go(func() {
				for ctx.Err() == nil {
					lease, err := l.Acquire(ctx, "contended")
					if err != nil {
						if ctx.Err() == nil {
							t.Errorf("acquire: %v", err)
						}
						return
					}
					mu.Lock()
					if total++; total == grants/4 { // by now all callers have started, so count from here
						for _, c := range servers {
							ResetRuns(t, c)
						}
						clear(served)
						before = total
					}
					served[i]++
					if total == grants {
						for _, c := range servers {
							counted += ScriptRuns(t, c)
						}
						cancel()
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
					// ErrUnknown: the reply was late, and another process had the lock before the retry.
					if err := lease.Release(t.Context()); err != nil && !errors.Is(err, rowlock.ErrUnknown) {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	if total < grants {
		t.Fatalf("%d of %d leases were granted", total, grants)
	}
	return served, float64(counted) / float64(grants-before)
}
