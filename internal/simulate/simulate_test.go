package simulate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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

// scenario is one random schedule: two or three processes, each with one or two callers of Acquire.
// Their requests have troubles until a certain time. After that, no request has a trouble.
type scenario struct {
	random  *rand.Rand // the source of random numbers; all of them are drawn before the schedule runs
	ttl     time.Duration
	minHold time.Duration
	delay   time.Duration
	share   float64          // the share of requests that have a trouble
	dark    [2]time.Duration // begin and end of a period in which no request reaches the store
	verdict verdict
}

// task is one acquisition by one caller, with its delays.
type task struct {
	pause, wait, hold, renew time.Duration
	try, with                bool
}

// beyondTrust is a reply that arrives after the shortest lease of a scenario has ended.
var beyondTrust = []trouble{{Fault: memlock.Fault{Reply: exploreTTL + 200*time.Millisecond}}}

func newScenario(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	d := &scenario{random: r, ttl: []time.Duration{exploreTTL, 3 * time.Second, 2 * time.Minute}[r.IntN(3)], share: r.Float64() * 0.7}
	if r.IntN(4) == 0 {
		d.minHold = below(r, 2*d.ttl)
	}
	if r.IntN(4) == 0 {
		d.delay = below(r, d.ttl)
	}
	if r.IntN(2) == 0 {
		d.dark[0] = below(r, 4*min(d.ttl, 3*time.Second))
		d.dark[1] = d.dark[0] + below(r, 2*d.ttl)
	}
	return d
}

func below(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

func (d *scenario) tasks() []task {
	r := d.random
	long := min(d.ttl, 3*time.Second)
	tasks := make([]task, 1+r.IntN(3))
	for i := range tasks {
		tasks[i] = task{
			pause: below(r, long), wait: below(r, 4*long), hold: below(r, 2*long), renew: below(r, 4*long),
			try: r.IntN(4) == 0, with: r.IntN(8) == 0,
		}
	}
	return tasks
}

// run runs the scenario. It returns a description of the first violation, or an empty text.
func (d *scenario) run(t *testing.T, wrap func(*memlock.Backend) driver.Backend) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		dice, healed := rand.New(rand.NewPCG(d.random.Uint64(), 0)), false
		start := time.Now()
		s := newWorld(func() trouble {
			mu.Lock()
			defer mu.Unlock()
			if now := time.Since(start); !healed && d.dark[0] <= now && now < d.dark[1] {
				return trouble{Fault: memlock.Fault{LoseRequest: true}}
			}
			if healed || dice.Float64() > d.share {
				return trouble{}
			}
			return slices.Concat(troubles, beyondTrust)[dice.IntN(len(troubles)+1)]
		})
		var lockers []*rowlock.Locker
		var wg sync.WaitGroup
		for range 2 + d.random.IntN(2) {
			c := newClient(s, wrap(s.Backend))
			l, err := rowlock.New(c, rowlock.TTL(d.ttl), rowlock.MinHold(d.minHold), rowlock.HandoverDelay(d.delay))
			require.NoError(t, err)
			lockers = append(lockers, l)
			many := 1 + d.random.IntN(2)
			for range many {
				tasks := d.tasks()
				time.Sleep(time.Microsecond) // a different start for each caller, because simultaneous steps would have no defined order
				wg.Go(func() { d.work(l, c, many == 1, tasks) })
			}
		}
		wg.Wait()
		mu.Lock()
		healed = true
		mu.Unlock()
		time.Sleep(30 * time.Second) // waits until requests in progress and releases in the background have ended
		if now := s.state(); now.State == driver.StateHeld {
			d.verdict.broken("left behind: %+v", now)
		}
		before := s.Calls(memlock.OpRenew) + s.Calls(memlock.OpRelease) + s.Calls(memlock.OpAcquire)
		time.Sleep(time.Hour)
		if more := s.Calls(memlock.OpRenew) + s.Calls(memlock.OpRelease) + s.Calls(memlock.OpAcquire) - before; more > 0 {
			d.verdict.broken("%d requests were sent while no caller was active", more)
		}
		for _, l := range lockers {
			if err := l.Close(); err != nil {
				d.verdict.broken("Close after the troubles and all releases: %v", err)
			}
		}
		wrong = d.verdict.of()
	})
	return wrong
}

func (d *scenario) work(l *rowlock.Locker, c *client, alone bool, tasks []task) {
	for _, a := range tasks {
		time.Sleep(a.pause)
		ctx, cancel := context.WithTimeout(background, a.wait)
		refusals, troubled, _, _ := c.told(0)
		acquire := l.Acquire
		if a.try {
			acquire = l.TryAcquire
		}
		lease, err := acquire(ctx, "a")
		cancel()
		if err != nil {
			d.verdict.refused(err, c, alone, refusals, troubled)
			continue
		}
		w := d.verdict.watch(lease, c, d.ttl-d.ttl/10)
		d.hold(w, a)
	}
}

func (d *scenario) hold(w *watched, a task) {
	over := time.After(a.hold)
	select {
	case <-time.After(a.renew):
		_ = w.Renew(background)
	case <-over:
		over = nil
	case <-w.ended:
	}
	if over != nil {
		select {
		case <-over:
		case <-w.ended:
		}
	}
	if a.with {
		_ = w.ReleaseWith(background, func(context.Context) error { return fmt.Errorf("it fails, and the lease goes on") })
	}
	w.release()
}

// simulated returns the number in the environment variable name. If the variable is not set, it returns the parameter
// usual.
func simulated(t *testing.T, name string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// Promises 1 to 7, 9 and 13 of docs/guarantees.md hold in random schedules of processes, waiters, requests and faults.
// No two holders trust their leases at the same time, tokens rise, and every result is correct. At the end no lock is
// held, no unnecessary request was sent, and every goroutine has ended. ROWLOCK_SIMULATE_SEED and
// ROWLOCK_SIMULATE_SCHEDULES repeat and extend a run. The seed determines the plan but not the library's own jitter, so
// a rare failure may need several runs.
func TestSimulation(t *testing.T) {
	seed := simulated(t, "ROWLOCK_SIMULATE_SEED", uint64(time.Now().UnixNano()))
	usual := uint64(1000)
	if raced {
		usual = 200
	}
	n := simulated(t, "ROWLOCK_SIMULATE_SCHEDULES", usual)
	start := time.Now()
	for i := range n {
		wrong := newScenario(seed+i).run(t, honest)
		require.Empty(t, wrong, "ROWLOCK_SIMULATE_SEED=%d ROWLOCK_SIMULATE_SCHEDULES=1", seed+i)
	}
	rate(t, int(n), start)
}

// The simulation detects a store that ends leases too early.
func TestSimulationFindsAHastyStore(t *testing.T) {
	wrong := ""
	for seed := uint64(0); seed < 500 && wrong == ""; seed++ {
		wrong = newScenario(seed).run(t, func(b *memlock.Backend) driver.Backend { return hasty{b} })
	}
	assert.NotEmpty(t, wrong)
	t.Log(wrong)
}
