// Package contest lets several lockers in a test compete for one lock, and measures how often each gets the lock.
// Each locker acts like a process of its own.
package contest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock"
)

// Name is the name of the lock.
const Name = "contest"

// Result has the counts of a contest. Served and Took do not count the time before each locker had at least one
// grant.
type Result struct {
	Served []int           // the number of grants of each locker
	Took   []time.Duration // the duration of each hand-over, from the call of the release to the next grant, sorted
	All    int             // the number of all grants, from the beginning
}

// Run starts a number of callers for each locker. Each caller repeatedly acquires the lock,
// holds it for a millisecond and releases it. Run returns when it has counted the given number of grants.
// It fails the test if that takes longer than limit.
func Run(tb testing.TB, lockers []*rowlock.Locker, callers, grants int, limit time.Duration) Result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r := Result{Served: make([]int, len(lockers))}
	var mu sync.Mutex
	var released time.Time
	there := false
	granted := func(i int) {
		mu.Lock()
		defer mu.Unlock()
		r.All++
		r.Served[i]++
		switch {
		case there:
			r.Took = append(r.Took, time.Since(released))
		case slices.Min(r.Served) > 0:
			there = true
			clear(r.Served)
		}
		if len(r.Took) >= grants {
			cancel()
		}
	}
	var group sync.WaitGroup
	for i, l := range lockers {
		for range callers {
			group.Go(func() {
				for ctx.Err() == nil {
					lease, err := l.Acquire(ctx, Name)
					if err != nil {
						if ctx.Err() == nil {
							tb.Errorf("locker %d: %v", i, err)
						}
						return
					}
					granted(i)
					time.Sleep(time.Millisecond) // the work
					mu.Lock()
					released = time.Now()
					mu.Unlock()
					switch err := lease.Release(context.Background()); {
					// The store was too slow to answer. The lock becomes free nevertheless, at the latest when the
					// lease expires.
					case errors.Is(err, rowlock.ErrUnknown):
						tb.Logf("locker %d: %v", i, err)
					case err != nil:
						tb.Errorf("locker %d: %v", i, err)
					}
				}
			})
		}
	}
	group.Wait()
	slices.Sort(r.Took)
	if len(r.Took) < grants {
		tb.Fatalf("%d hand-overs in %s, want %d: %v", len(r.Took), limit, grants, r.Served)
	}
	tb.Log(r)
	return r
}

// Least returns how many grants the locker with the fewest grants got, divided by the average number of grants per
// locker. 1 means that all lockers got equally many.
func (r Result) Least() float64 {
	return float64(slices.Min(r.Served)*len(r.Served)) / float64(len(r.Took))
}

// Percentile returns the n-th percentile of the durations of hand-overs.
func (r Result) Percentile(n int) time.Duration { return r.Took[(len(r.Took)-1)*n/100] }

func (r Result) String() string {
	return fmt.Sprintf("%d hand-overs, p50 %s, p99 %s, served %v", len(r.Took), r.Percentile(50), r.Percentile(99), r.Served)
}
