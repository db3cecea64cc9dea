package rowlock_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

const exploreTTL = 300 * time.Millisecond

// fates are what may befall a request; the first is none.
var fates = []memlock.Fault{
	{},
	{Request: 200 * time.Millisecond},
	{Reply: 200 * time.Millisecond},
	{LoseRequest: true},
	{LoseReply: true},
	{Request: 1200 * time.Millisecond, Late: true},
}

// span is a time in which a process believed that it held the lock.
type span struct {
	token      rowlock.Token
	begin, end time.Time
}

// history is what the processes of one schedule believed.
type history struct {
	mu    sync.Mutex
	spans []span
}

func (h *history) add(s span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spans = append(h.spans, s)
}

// violation says where two processes believed to hold the lock at once, or a token did not rise.
func (h *history) violation() string {
	slices.SortFunc(h.spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	for i := 1; i < len(h.spans); i++ {
		a, b := h.spans[i-1], h.spans[i]
		if b.begin.Before(a.end) {
			return fmt.Sprintf("token %d was believed until %s, token %d from %s", a.token, a.end, b.token, b.begin)
		}
		if b.token <= a.token {
			return fmt.Sprintf("token %d came after token %d", b.token, a.token)
		}
	}
	return ""
}

// process acquires, works for longer than a TTL, and releases, as two processes at once do here.
func (h *history) process(store driver.Backend, inspect *memlock.Backend, name int) string {
	l, err := rowlock.New(store, rowlock.TTL(exploreTTL), rowlock.Holder(fmt.Sprint(name)))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(background, 10*time.Second)
	defer cancel()
	lease, err := l.Acquire(ctx, "a")
	if err != nil {
		return "" // a store that answers nothing grants nothing
	}
	s := span{token: lease.Token(), begin: time.Now()}
	select {
	case <-lease.Context().Done():
	case <-time.After(exploreTTL * 3 / 2):
	}
	s.end = time.Now()
	h.add(s)
	status, err := inspect.Inspect(background, driver.Key{Name: "a"})
	_ = lease.Release(background)
	switch {
	case err != nil:
		return err.Error()
	case status.Token != s.token || status.ExpiresIn < 0:
		return fmt.Sprintf("token %d was believed until %s, when the store had %+v", s.token, s.end, status)
	}
	return ""
}

// schedule runs two processes whose first requests meet the given fates, and returns what went
// wrong and how many fates were used.
func schedule(t *testing.T, path []int, wrap func(*memlock.Backend) driver.Backend) (wrong string, used int) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		var mu sync.Mutex
		store.Intercept(func(memlock.Call) memlock.Fault {
			mu.Lock()
			defer mu.Unlock()
			used++
			if used > len(path) {
				return memlock.Fault{}
			}
			return fates[path[used-1]]
		})
		var h history
		results := make([]string, 2)
		var wg sync.WaitGroup
		for i := range results {
			time.Sleep(time.Microsecond) // no two of them ever act at the same instant
			wg.Go(func() { results[i] = h.process(wrap(store), store, i) })
		}
		wg.Wait()
		wrong = cmp.Or(h.violation(), results[0], results[1])
		time.Sleep(exploreTTL + 12*time.Second) // for what was on its way, and what that was granted
		if s, _ := store.Inspect(background, driver.Key{Name: "a"}); wrong == "" && s.State == driver.StateHeld {
			wrong = fmt.Sprintf("left behind: %+v", s)
		}
	})
	return wrong, used
}

// explore runs every schedule of the given depth until one goes wrong.
func explore(t *testing.T, depth int, wrap func(*memlock.Backend) driver.Backend) (wrong string, schedules int) {
	path := make([]int, depth)
	for {
		schedules++
		if wrong, _ = schedule(t, path, wrap); wrong != "" {
			return fmt.Sprintf("schedule %v: %s", path, wrong), schedules
		}
		i := depth - 1
		for ; i >= 0; i-- {
			if path[i]++; path[i] < len(fates) {
				break
			}
			path[i] = 0
		}
		if i < 0 {
			return "", schedules
		}
	}
}

func honest(b *memlock.Backend) driver.Backend { return b }

// Promises 1, 2, 3 and 5 hold under every combination of slow, late and lost requests and replies
// among the first few of two processes.
func TestEveryScheduleKeepsThePromises(t *testing.T) {
	depth := 5
	if testing.Short() {
		depth = 3
	}
	start := time.Now()
	wrong, n := explore(t, depth, honest)
	require.Empty(t, wrong)
	t.Logf("%d schedules in %s", n, time.Since(start).Round(time.Millisecond))
}

// hasty is a store that ends leases sooner than it says.
type hasty struct{ *memlock.Backend }

func (h hasty) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	said := r.TTL
	r.TTL /= 2
	g, err := h.Backend.Acquire(ctx, r)
	g.TTL = said
	return g, err
}

// The control: the exploration finds what a store does wrong.
func TestExplorationFindsAHastyStore(t *testing.T) {
	wrong, n := explore(t, 4, func(b *memlock.Backend) driver.Backend { return hasty{b} })
	assert.NotEmpty(t, wrong)
	t.Logf("after %d schedules: %s", n, wrong)
}
