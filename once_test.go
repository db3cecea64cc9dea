package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

const monday, tuesday = "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"

func nothing(context.Context, *rowlock.Lease) error { return nil }

// Of many callers for a tick, one runs the function, and the others get ErrDone, whether they wait or come later.
func TestOnceRunsOncePerTick(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var runs, done atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			l := locker(t, store)
			for range 4 {
				wg.Go(func() {
					err := rowlock.Once(background, l, "nightly", monday, func(_ context.Context, lease *rowlock.Lease) error {
						assert.Equal(t, monday, lease.Tick())
						runs.Add(1)
						time.Sleep(time.Minute)
						return nil
					})
					switch {
					case errors.Is(err, rowlock.ErrDone):
						done.Add(1)
					default:
						assert.NoError(t, err)
					}
				})
			}
		}
		wg.Wait()
		assert.EqualValues(t, 1, runs.Load())
		assert.EqualValues(t, 11, done.Load())
		l := locker(t, store)
		err := rowlock.Once(background, l, "nightly", monday, nothing)
		require.ErrorIs(t, err, rowlock.ErrDone)
		assert.EqualError(t, err, `rowlock: the tick is done: "nightly": tick "`+monday+`", last done "`+monday+`"`)
		require.NoError(t, rowlock.Once(background, l, "nightly", tuesday, nothing))
		require.ErrorIs(t, rowlock.Once(background, l, "nightly", monday, nothing), rowlock.ErrDone, "an earlier time is done, too")
		status, err := l.Status(background, "nightly")
		require.NoError(t, err)
		assert.Equal(t, tuesday, status.Done)
		assert.Equal(t, driver.StateFree, status.State)
	})
}

// If a tick is neither a time nor a number, it is done only if it is the tick that was recorded last.
func TestOnceWithTicksOfAnyText(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		for _, tick := range []string{"build 2", "build 10", "build 1", monday, "z", monday} {
			require.NoError(t, rowlock.Once(background, l, "nightly", tick, nothing))
			require.ErrorIs(t, rowlock.Once(background, l, "nightly", tick, nothing), rowlock.ErrDone)
		}
	})
}

// Promise 14 of docs/guarantees.md: if the function fails, panics, or loses its lease, the tick stays open, and the
// next caller runs the function.
func TestOnceLeavesTheTickOpen(t *testing.T) {
	broken := errors.New("broken")
	for name, fail := range map[string]func(l *rowlock.Locker, lease *rowlock.Lease) error{
		"error": func(*rowlock.Locker, *rowlock.Lease) error { return broken },
		"panic": func(*rowlock.Locker, *rowlock.Lease) error { panic(broken) },
		"lost": func(l *rowlock.Locker, lease *rowlock.Lease) error {
			return l.ForceRelease(background, "nightly", lease.Token())
		},
		"released": func(_ *rowlock.Locker, lease *rowlock.Lease) error { return lease.Release(background) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				err := func() (err error) {
					defer func() {
						if r := recover(); r != nil {
							err = r.(error)
						}
					}()
					return rowlock.Once(background, l, "nightly", monday, func(_ context.Context, lease *rowlock.Lease) error { return fail(l, lease) })
				}()
				switch name {
				case "lost":
					require.ErrorIs(t, err, rowlock.ErrLost)
				case "released":
					require.ErrorContains(t, err, "the lease was released before the tick was recorded")
				default:
					require.ErrorIs(t, err, broken)
				}
				time.Sleep(time.Hour)
				require.NoError(t, rowlock.Once(background, locker(t, store), "nightly", monday, nothing))
			})
		})
	}
}

// Promise 14 of docs/guarantees.md: a lost reply never makes a tick that was reported as done run again.
func TestOnceWithLostReplies(t *testing.T) {
	for _, op := range []memlock.Op{memlock.OpAcquire, memlock.OpRelease} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				store.LoseReply(op)
				runs := 0
				count := func(context.Context, *rowlock.Lease) error { runs++; return nil }
				require.NoError(t, rowlock.Once(background, l, "nightly", monday, count))
				require.ErrorIs(t, rowlock.Once(background, locker(t, store), "nightly", monday, count), rowlock.ErrDone)
				assert.Equal(t, 1, runs)
			})
		})
	}
}

// If no release gets a reply, the outcome is unknown. The background task still records the tick when the store replies
// again before the lease expires.
func TestOnceOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(time.Minute))
		var away atomic.Bool
		away.Store(true)
		store.Intercept(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{LoseRequest: away.Load() && c.Op == memlock.OpRelease}
		})
		require.ErrorIs(t, rowlock.Once(background, l, "nightly", monday, nothing), rowlock.ErrUnknown)
		away.Store(false)
		require.ErrorIs(t, rowlock.Once(background, locker(t, store), "nightly", monday, nothing), rowlock.ErrDone)
	})
}

// Promise 10 of docs/guarantees.md: a request that reaches the store late, after other holders, does not replace a
// later tick.
func TestOnceWithALateRequest(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		store.Intercept(func(c memlock.Call) memlock.Fault {
			if c.Op == memlock.OpAcquire && c.N == 0 {
				return memlock.Fault{Request: 6 * time.Second, Late: true}
			}
			return memlock.Fault{}
		})
		sent := time.Now()
		require.NoError(t, rowlock.Once(background, l, "nightly", monday, nothing))
		require.NoError(t, rowlock.Once(background, locker(t, store), "nightly", tuesday, nothing))
		require.Less(t, time.Since(sent), 6*time.Second, "the first request is still on its way")
		time.Sleep(time.Hour)
		assert.Zero(t, held(t, store), "the store granted it, and the grant was released")
		status, err := l.Status(background, "nightly")
		require.NoError(t, err)
		assert.Equal(t, tuesday, status.Done)
	})
}

// A caller that does not wait gets ErrHeld while the function runs, because the tick may stay open.
func TestOnceWithoutWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		err := rowlock.Once(background, l, "nightly", monday, func(context.Context, *rowlock.Lease) error {
			err := rowlock.Once(background, other, "nightly", monday, nothing, rowlock.Wait(0))
			require.ErrorIs(t, err, rowlock.ErrHeld)
			require.NotErrorIs(t, err, rowlock.ErrDone)
			return nil
		})
		require.NoError(t, err)
		require.ErrorIs(t, rowlock.Once(background, other, "nightly", monday, nothing, rowlock.Wait(0)), rowlock.ErrDone)
	})
}

// Promise 14 of docs/guarantees.md: other holders of the name, forced releases and pauses do not change the recorded
// tick. If a call of Once finds its tick done, the name is free at once, even if the call has a MinHold.
func TestTheTickOutlivesOtherHolders(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		require.NoError(t, rowlock.Once(background, l, "nightly", monday, nothing))
		require.NoError(t, l.Do(background, "nightly", nothing))
		lease := acquire(t, l, "nightly")
		require.NoError(t, l.ForceRelease(background, "nightly", lease.Token()))
		lease = acquire(t, l, "nightly", rowlock.TTL(time.Second), rowlock.MaxHold(2*time.Second))
		<-lease.Context().Done()
		time.Sleep(time.Minute)
		var wg sync.WaitGroup // the next holder is a waiter of the same Locker
		lease = acquire(t, l, "nightly")
		wg.Go(func() {
			require.ErrorIs(t, rowlock.Once(background, l, "nightly", monday, nothing, rowlock.MinHold(time.Hour)), rowlock.ErrDone)
		})
		synctest.Wait()
		require.NoError(t, lease.Release(background))
		wg.Wait()
		acquire(t, l, "nightly", rowlock.Wait(0))
	})
}

// A ReleaseWith inside the function ends the lease and records the tick itself.
func TestOnceThatEndsItsLeaseItself(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		err := rowlock.Once(background, l, "nightly", monday, func(ctx context.Context, lease *rowlock.Lease) error {
			return lease.ReleaseWith(ctx, func(ctx context.Context) error {
				return store.Release(ctx, driver.Grant{Key: driver.Key{Name: "nightly"}, Nonce: lease.Nonce(), Token: lease.Token(), Done: lease.Tick()})
			})
		})
		require.NoError(t, err)
		require.ErrorIs(t, rowlock.Once(background, l, "nightly", monday, nothing), rowlock.ErrDone)
	})
}

// A ReleaseDone that begins while Close waits for a ReleaseWith returns the result of that ReleaseWith.
func TestReleaseDoneDuringAReleaseWith(t *testing.T) {
	store := memlock.New()
	l, err := rowlock.New(store)
	require.NoError(t, err)
	lease, err := l.AcquireOnce(t.Context(), "nightly", monday)
	require.NoError(t, err)
	began, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, lease.ReleaseWith(t.Context(), func(context.Context) error {
			close(began)
			<-goOn
			return store.Release(context.Background(), driver.Grant{Key: driver.Key{Name: "nightly"}, Nonce: lease.Nonce(), Token: lease.Token(), Done: lease.Tick()})
		}))
	})
	<-began
	wg.Go(func() { assert.NoError(t, l.Close()) })
	<-lease.Context().Done() // Close has begun to release the lease
	wg.Go(func() { assert.NoError(t, lease.ReleaseDone(t.Context()), "the tick is recorded") })
	close(goOn)
	wg.Wait()
	status, err := store.Inspect(t.Context(), driver.Key{Name: "nightly"})
	require.NoError(t, err)
	assert.Equal(t, monday, status.Done)
}

// A tick that a store could not keep, and a store that keeps no ticks, are refused before any request.
func TestOnceRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		for tick, want := range map[string]string{
			"":                       "the tick is empty",
			strings.Repeat("x", 129): "has 129 bytes: the limit is 128",
			"a\x00b":                 "must be printable ASCII",
			"Grüße":                  "must be printable ASCII",
		} {
			assert.ErrorContains(t, rowlock.Once(background, l, "nightly", tick, nothing), want)
		}
		assert.Zero(t, store.Calls(memlock.OpAcquire))
		plain, err := rowlock.New(forgetful{store})
		require.NoError(t, err)
		defer plain.Close()
		err = rowlock.Once(background, plain, "nightly", monday, nothing)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		assert.ErrorContains(t, err, "keeps no ticks (use lease rows, Redis, or an exclusive lock in etcd or ZooKeeper)")
	})
}

type forgetful struct{ *memlock.Backend }

func (f forgetful) Capabilities() driver.Capabilities {
	c := f.Backend.Capabilities()
	c.Ticks = false
	return c
}

// If a time is recorded as done, every earlier time is done, even if the two are written in different ways. If a number
// is recorded as done, every smaller number is done. Other texts have no order.
func TestIsDone(t *testing.T) {
	for _, c := range []struct {
		last, tick string
		done       bool
	}{
		{"2026-11-24", "2026-11-23", true},
		{"2026-11-24", "2026-11-24", true},
		{"2026-11-24", "2026-11-25", false},
		{"2026-11", "2026-10", true},
		{"2026-11-24T08:30", "2026-11-24", true},
		{"2026-11-24", "2026-11-24T08:30", false},
		{tuesday, "2026-11-24", true},
		{"2026-11-24T01:00:00+02:00", "2026-11-23T23:00:00Z", true},
		{"10", "9", true},
		{"9", "10", false},
		{"20261124", "20261123", true},
		{"10", "2026-11-24", false},
		{"build 2", "build 1", false},
		{"2026-11-24", "build 1", false},
		{"", "2026-11-24", false},
	} {
		assert.Equal(t, c.done, rowlock.IsDone(c.last, c.tick), "%q after %q", c.tick, c.last)
	}
}

// A tick begins at a multiple of its length in UTC, whatever the zone of the time.
func TestTickOf(t *testing.T) {
	at := time.Date(2026, 11, 25, 1, 7, 31, 5, time.FixedZone("", 2*60*60))
	for every, want := range map[time.Duration]string{
		time.Hour:          "2026-11-24T23:00:00Z",
		24 * time.Hour:     "2026-11-24T00:00:00Z",
		7 * 24 * time.Hour: monday,
		15 * time.Second:   "2026-11-24T23:07:30Z",
	} {
		assert.Equal(t, want, rowlock.TickOf(at, every), fmt.Sprint(every))
	}
}

// AcquireOnce and ReleaseDone are the two steps of Once. Release alone leaves the tick open.
func TestOnceInTwoSteps(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease, err := l.AcquireOnce(background, "nightly", monday)
		require.NoError(t, err)
		require.NoError(t, lease.Release(background))
		require.ErrorContains(t, lease.ReleaseDone(background), "the lease was released before the tick was recorded")
		lease, err = l.AcquireOnce(background, "nightly", monday)
		require.NoError(t, err)
		require.NoError(t, lease.ReleaseDone(background))
		require.NoError(t, lease.ReleaseDone(background), "a repeated call has the same result")
		_, err = l.AcquireOnce(background, "nightly", monday)
		require.ErrorIs(t, err, rowlock.ErrDone)
		require.ErrorContains(t, acquire(t, l, "other").ReleaseDone(background), "the lease has no tick: use AcquireOnce")
		require.ErrorIs(t, (*rowlock.Lease)(nil).ReleaseDone(background), rowlock.ErrNotHeld)
	})
}

// Without a time between two ticks there is no tick, and Once refuses it. A tick that differs at each call would run the
// function every time.
func TestNoTickWithoutATimeBetweenTicks(t *testing.T) {
	for _, every := range []time.Duration{0, -time.Hour} {
		tick := rowlock.TickOf(time.Now(), every)
		require.Empty(t, tick)
		err := rowlock.Once(t.Context(), locker(t, memlock.New()), "job", tick, func(context.Context, *rowlock.Lease) error {
			t.Error("the function ran")
			return nil
		})
		require.ErrorContains(t, err, "the tick is empty")
	}
}
