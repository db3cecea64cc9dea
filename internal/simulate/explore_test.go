package simulate_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

const (
	exploreTTL   = 300 * time.Millisecond
	exploreTrust = exploreTTL - exploreTTL/10
)

// The method process simulates one process, which acquires the lock, holds it for longer than the TTL, and releases
// it. Each schedule runs two such processes at the same time.
func (v *verdict) process(s *world, c *client, name int) {
	l, err := rowlock.New(c, rowlock.TTL(exploreTTL), rowlock.Holder(fmt.Sprint(name)))
	if err != nil {
		v.broken("%v", err)
		return
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(background, 10*time.Second)
	defer cancel()
	lease, err := l.Acquire(ctx, "a")
	if err != nil {
		v.refused(err, c, true, 0, 0)
		return
	}
	w := v.watch(lease, c, exploreTrust)
	select {
	case <-w.ended:
	case <-time.After(exploreTTL * 3 / 2):
	}
	w.release()
}

// schedule runs two processes. The requests of both processes are counted together: the n-th request gets the n-th
// trouble of the path. schedule returns a description of the first violation, or an empty text.
func schedule(t *testing.T, path []int, wrap func(*memlock.Backend) driver.Backend) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		s := newWorld(along(path))
		var v verdict
		var wg sync.WaitGroup
		for i := range 2 {
			time.Sleep(time.Microsecond) // a different start for each process, because simultaneous steps would have no defined order
			wg.Go(func() { v.process(s, newClient(s, wrap(s.Backend)), i) })
		}
		wg.Wait()
		time.Sleep(exploreTTL + 12*time.Second) // waits until requests in progress have ended, and their grants have expired
		if now := s.state(); now.State == driver.StateHeld {
			v.broken("left behind: %+v", now)
		}
		wrong = v.of()
	})
	return wrong
}

// along returns a function that returns the troubles of the path one after the other, and after them no trouble.
func along(path []int) func() trouble {
	var mu sync.Mutex
	used := 0
	return func() trouble {
		mu.Lock()
		defer mu.Unlock()
		if used++; used > len(path) {
			return trouble{}
		}
		return troubles[path[used-1]]
	}
}

// everyPath calls the function run with every path of the given depth, until one call reports a violation. A path is a
// list of indexes, one trouble for each request.
func everyPath(depth, many int, run func(path []int) (wrong string)) (wrong string, schedules int) {
	path := make([]int, depth)
	for next := true; next; {
		schedules++
		if wrong := run(path); wrong != "" {
			return fmt.Sprintf("schedule %v: %s", path, wrong), schedules
		}
		next = false
		for i := depth - 1; i >= 0 && !next; i-- {
			path[i] = (path[i] + 1) % many
			next = path[i] != 0
		}
	}
	return "", schedules
}

// explore runs schedules until one fails. It tries every combination of troubles of the first requests. The parameter
// depth is the number of these requests.
func explore(t *testing.T, depth int, wrap func(*memlock.Backend) driver.Backend) (wrong string, schedules int) {
	return everyPath(depth, len(troubles), func(path []int) string { return schedule(t, path, wrap) })
}

// exploreDepth returns how many requests of a schedule have a trouble. The environment variable ROWLOCK_SIMULATE_DEPTH
// sets this number. Without the variable, the number is the parameter usual, or less for a short test or with the race
// detector.
func exploreDepth(t *testing.T, usual int) int {
	t.Helper()
	depth, err := strconv.Atoi(os.Getenv("ROWLOCK_SIMULATE_DEPTH"))
	switch {
	case err == nil:
		return depth
	case testing.Short():
		return usual - 2
	case raced:
		return usual - 1
	}
	return usual
}

func rate(t *testing.T, schedules int, start time.Time) {
	t.Helper()
	took := time.Since(start)
	t.Logf("%d schedules in %s: %.0f a second", schedules, took.Round(time.Millisecond), float64(schedules)/took.Seconds())
}

func honest(b *memlock.Backend) driver.Backend { return b }

// Promises 1, 2, 3, 5, 6 and 7 of docs/guarantees.md hold for two processes in every combination of troubles of their
// first requests. The troubles are slow, late, lost and refused requests, slow and lost replies, and leases that were
// ended by force.
func TestEveryScheduleKeepsThePromises(t *testing.T) {
	start := time.Now()
	wrong, n := explore(t, exploreDepth(t, 4), honest)
	require.Empty(t, wrong)
	rate(t, n, start)
}

// hasty is a faulty store: it ends leases earlier than it promises.
type hasty struct{ *memlock.Backend }

func (h hasty) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	said := r.TTL
	r.TTL /= 2
	g, err := h.Backend.Acquire(ctx, r)
	g.TTL = said
	return g, err
}

// The exploration detects a store that ends leases too early.
func TestExplorationFindsAHastyStore(t *testing.T) {
	wrong, n := explore(t, 4, func(b *memlock.Backend) driver.Backend { return hasty{b} })
	assert.NotEmpty(t, wrong)
	t.Logf("after %d schedules: %s", n, wrong)
}
