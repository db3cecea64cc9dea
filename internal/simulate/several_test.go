package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// names lists the locks that the callers of a crowd use. The first two are the slots of AcquireAny.
var names = []string{"slot/0", "slot/1", "a", "b"}

// crowd is one random schedule: callers of Acquire, AcquireAny, AcquireAll and Once on a few names. About half of the
// calls except Once are those of readers. The requests have troubles until all callers have ended.
type crowd struct {
	random *rand.Rand // the source of random numbers; all of them are drawn before the schedule runs
	ttl    time.Duration

	mu    sync.Mutex
	spans map[string]*verdict  // for each name, the spans of trust
	done  map[string]time.Time // for each tick (a scheduled time of Once), when a call of Once first returned nil
	taken map[grant]time.Time  // when an operator ended a lease
	wrong string
}

// grant identifies a lease.
type grant struct {
	name  string
	token rowlock.Token
}

func newCrowd(seed uint64) *crowd {
	c := &crowd{random: rand.New(rand.NewPCG(seed, 1)), ttl: []time.Duration{exploreTTL, 3 * time.Second}[seed%2], spans: map[string]*verdict{}, done: map[string]time.Time{}, taken: map[grant]time.Time{}}
	for _, name := range names {
		c.spans[name] = new(verdict)
	}
	return c
}

func (c *crowd) broken(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong == "" {
		c.wrong = fmt.Sprintf(format, args...)
	}
}

// take ends the lease on name by force.
func (c *crowd) take(store *memlock.Backend, name string) {
	now, _ := store.Inspect(background, driver.Key{Name: name})
	if now.State != driver.StateHeld {
		return
	}
	c.mu.Lock()
	c.taken[grant{name, now.Token}] = time.Now()
	c.mu.Unlock()
	store.Lose(name)
}

// run runs the schedule. It returns a description of the first violation, or an empty text.
func (c *crowd) run(t *testing.T, wrap func(*memlock.Backend) driver.Backend) string {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		dice, share, healed := rand.New(rand.NewPCG(c.random.Uint64(), 0)), c.random.Float64()*0.5, false
		store.Intercept(func(memlock.Call) memlock.Fault {
			c.mu.Lock()
			defer c.mu.Unlock()
			if healed || dice.Float64() > share {
				return memlock.Fault{}
			}
			f := troubles[dice.IntN(len(troubles))]
			if name := names[dice.IntN(len(names))]; f.taken && dice.IntN(4) == 0 {
				time.AfterFunc(0, func() { c.take(store, name) })
			}
			return f.Fault
		})
		var lockers []*rowlock.Locker
		var wg sync.WaitGroup
		for range 3 {
			l, err := rowlock.New(wrap(store), rowlock.TTL(c.ttl))
			require.NoError(t, err)
			lockers = append(lockers, l)
			for range 1 + c.random.IntN(2) {
				r := rand.New(rand.NewPCG(c.random.Uint64(), 0))
				time.Sleep(time.Microsecond) // a different start for each caller
				wg.Go(func() {
					for range 3 {
						c.call(l, r)
					}
				})
			}
		}
		wg.Wait()
		c.mu.Lock()
		healed = true
		c.mu.Unlock()
		time.Sleep(time.Minute) // waits until requests in progress and releases in the background have ended
		for _, name := range names {
			if now, _ := store.Inspect(background, driver.Key{Name: name}); now.State == driver.StateHeld {
				c.broken("left behind: %+v", now)
			}
			if wrong := c.spans[name].of(); wrong != "" {
				c.broken("%s: %s", name, wrong)
			}
		}
		for _, l := range lockers {
			if err := l.Close(); err != nil {
				c.broken("Close after the troubles and all releases: %v", err)
			}
		}
	})
	return c.wrong
}

// call makes one random call, and checks its result.
func (c *crowd) call(l *rowlock.Locker, r *rand.Rand) {
	time.Sleep(below(r, c.ttl))
	ctx, cancel := context.WithTimeout(background, below(r, 6*c.ttl))
	defer cancel()
	hold := below(r, c.ttl)
	var opts []rowlock.Option
	if r.IntN(2) == 0 {
		opts = append(opts, rowlock.Shared())
	}
	switch r.IntN(4) {
	case 0:
		lease, err := l.Acquire(ctx, names[r.IntN(len(names))], opts...)
		c.hold(lease, err, hold)
	case 1:
		lease, err := l.AcquireAny(ctx, names[:2], opts...)
		if err == nil && !slices.Contains(names[:2], lease.Name()) {
			c.broken("AcquireAny granted %q", lease.Name())
		}
		c.hold(lease, err, hold)
	case 2:
		picked := slices.Clone(names)
		r.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
		c.all(ctx, l, picked[:2+r.IntN(3)], hold, opts)
	case 3:
		c.once(ctx, l, rowlock.TickOf(time.Now(), 2*c.ttl), hold)
	}
}

// watch records the span in which the lease is trusted.
func (c *crowd) watch(lease *rowlock.Lease) (ended chan struct{}) {
	begin, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		<-lease.Context().Done()
		end := time.Now()
		c.mu.Lock()
		taken, ok := c.taken[grant{lease.Name(), lease.Token()}]
		c.mu.Unlock()
		if ok && taken.Before(end) {
			end = taken // the holder could not know that an operator had ended the lease
		}
		if begin.Before(end) {
			c.spans[lease.Name()].add(span{lease.Token(), begin, end, lease.Shared()})
		}
	}()
	return ended
}

func (c *crowd) hold(lease *rowlock.Lease, err error, hold time.Duration) {
	if err != nil {
		c.refused(err)
		return
	}
	ended := c.watch(lease)
	select {
	case <-time.After(hold):
	case <-ended:
	}
	_ = lease.Release(background)
	<-ended
}

func (c *crowd) all(ctx context.Context, l *rowlock.Locker, picked []string, hold time.Duration, opts []rowlock.Option) {
	leases, err := l.AcquireAll(ctx, picked, opts...)
	if err != nil {
		c.refused(err)
		return
	}
	var ended []chan struct{}
	for i, lease := range leases.All() {
		if lease.Name() != picked[i] {
			c.broken("AcquireAll granted %q instead of %q", lease.Name(), picked[i])
		}
		ended = append(ended, c.watch(lease))
	}
	select {
	case <-time.After(hold):
	case <-leases.Context().Done():
		if leases.Err() == nil {
			c.broken("the context of several leases ended, and no lease has")
		}
	}
	_ = leases.Release(background)
	for _, e := range ended {
		<-e
	}
}

// once calls Once. After a call has returned nil for a tick, no call runs its function for that tick.
func (c *crowd) once(ctx context.Context, l *rowlock.Locker, tick string, hold time.Duration) {
	err := rowlock.Once(ctx, l, "a", tick, func(ctx context.Context, lease *rowlock.Lease) error {
		c.mu.Lock()
		at, done := c.done[tick]
		_, taken := c.taken[grant{lease.Name(), lease.Token()}]
		c.mu.Unlock()
		if done && !taken { // a holder whose lease an operator has ended notices it only with the next renewal
			c.broken("tick %s was done at %s, and runs again", tick, at)
		}
		ended := c.watch(lease)
		select {
		case <-time.After(hold):
		case <-ended:
		}
		return nil
	})
	c.mu.Lock()
	_, done := c.done[tick]
	if err == nil && !done {
		c.done[tick] = time.Now()
	}
	c.mu.Unlock()
	if err != nil && !errors.Is(err, rowlock.ErrDone) {
		c.refused(err)
	}
}

func (c *crowd) refused(err error) {
	if kinds(err) == 0 && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		c.broken("an error of unknown kind: %v", err)
	}
}

// Promises 1, 2, 3, 5 and 14 of docs/guarantees.md hold in random schedules of AcquireAny, AcquireAll, Once and Acquire
// on the same names, with readers and writers. No two holders of a name trust their leases at the same time, unless
// both are readers with the same token. A tick that was reported as done does not run again, and at the end no name is
// held.
func TestSimulationOfSeveralNames(t *testing.T) {
	seed := simulated(t, "ROWLOCK_SIMULATE_SEED", uint64(time.Now().UnixNano()))
	usual := uint64(1000)
	if raced {
		usual = 100
	}
	n := simulated(t, "ROWLOCK_SIMULATE_SCHEDULES", usual)
	start := time.Now()
	for i := range n {
		wrong := newCrowd(seed+i).run(t, honest)
		require.Empty(t, wrong, "ROWLOCK_SIMULATE_SEED=%d ROWLOCK_SIMULATE_SCHEDULES=1", seed+i)
	}
	rate(t, int(n), start)
}

// forgetsTicks is a store that does not record ticks.
type forgetsTicks struct{ *memlock.Backend }

func (f forgetsTicks) Release(ctx context.Context, g driver.Grant) error {
	g.Done = ""
	return f.Backend.Release(ctx, g)
}

// besideReaders is a store that grants a writer the name when one of several readers has released it.
type besideReaders struct{ *memlock.Backend }

func (b besideReaders) Release(ctx context.Context, g driver.Grant) error {
	err := b.Backend.Release(ctx, g)
	if g.Shared && err == nil {
		b.Expire(g.Key)
	}
	return err
}

// ownTokens is a store that gives readers tokens of their own.
type ownTokens struct{ *memlock.Backend }

func (b ownTokens) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.Backend.Acquire(ctx, r)
	if r.Shared {
		g.Token += driver.Token(r.Nonce[0])
	}
	return g, err
}

// The simulation of several names detects a store that ends leases too early, a store that forgets ticks, and two
// stores that treat readers wrongly.
func TestSimulationOfSeveralNamesFindsBrokenStores(t *testing.T) {
	for name, wrap := range map[string]func(*memlock.Backend) driver.Backend{
		"ends leases too early":    func(b *memlock.Backend) driver.Backend { return hasty{b} },
		"forgets ticks":            func(b *memlock.Backend) driver.Backend { return forgetsTicks{b} },
		"frees a name of readers":  func(b *memlock.Backend) driver.Backend { return besideReaders{b} },
		"gives readers own tokens": func(b *memlock.Backend) driver.Backend { return ownTokens{b} },
	} {
		t.Run(name, func(t *testing.T) {
			wrong := ""
			for seed := uint64(0); seed < 500 && wrong == ""; seed++ {
				wrong = newCrowd(seed).run(t, wrap)
			}
			assert.NotEmpty(t, wrong)
			t.Log(wrong)
		})
	}
}
