// Package contest lets several lockers of a test want one name, each as a process of its own, and says who was served.
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

// Name is what they want.
const Name = "contest"

// Result is what became of a contest. It counts from when every locker was served once.
type Result struct {
	Served []int           // how often each locker was
	Took   []time.Duration // from before each release to the next grant, sorted
	All    int             // grants, from the beginning
}

// Run has so many callers of each locker acquire the name, hold it for a millisecond and release it, again and again, until
// it has counted so many grants. That limit was too short for them is a failure.
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
					case errors.Is(err, rowlock.ErrUnknown): // a store that is overloaded: the name comes free all the same
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

// Least is what the least served has had of its fair share.
func (r Result) Least() float64 {
	return float64(slices.Min(r.Served)*len(r.Served)) / float64(len(r.Took))
}

// Percentile is how long so many of a hundred hand-overs took at most.
func (r Result) Percentile(n int) time.Duration { return r.Took[(len(r.Took)-1)*n/100] }

func (r Result) String() string {
	return fmt.Sprintf("%d hand-overs, p50 %s, p99 %s, served %v", len(r.Took), r.Percentile(50), r.Percentile(99), r.Served)
}
