package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

type outcomeAll struct {
	leases *rowlock.Leases
	err    error
}

// allOf calls AcquireAll in the background.
func allOf(ctx context.Context, l *rowlock.Locker, names []string, opts ...rowlock.Option) chan outcomeAll {
	got := make(chan outcomeAll, 1)
	go func() {
		leases, err := l.AcquireAll(ctx, names, opts...)
		got <- outcomeAll{leases, err}
	}()
	synctest.Wait()
	return got
}

var three = []string{"c", "a", "b"}

// The leases of AcquireAll are ordinary leases, in the order of the names, and Leases.Release releases all of them.
func TestAllAreOrdinaryLeases(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		before := acquire(t, l, "a")
		require.NoError(t, before.Release(background))
		leases, err := l.AcquireAll(background, three)
		require.NoError(t, err)
		for i, lease := range leases.All() {
			assert.Equal(t, three[i], lease.Name())
			assert.Same(t, lease, leases.Lease(three[i]))
		}
		assert.Nil(t, leases.Lease("d"))
		assert.Greater(t, leases.Lease("a").Token(), before.Token())
		assert.Contains(t, leases.String(), `"c" of `)
		assert.Equal(t, leases.All(), rowlock.LeasesFromContext(leases.Context()))
		first, ok := rowlock.FromContext(leases.Context())
		assert.True(t, ok)
		assert.Same(t, leases.Lease("c"), first)
		time.Sleep(time.Hour)
		require.NoError(t, leases.Err(), "the Locker renews each lease")
		assert.Equal(t, 3, held(t, store))
		for _, name := range three {
			_, err = l.Acquire(leases.Context(), name)
			require.ErrorIs(t, err, rowlock.ErrNested)
		}
		require.NoError(t, leases.Release(background))
		require.ErrorIs(t, leases.Err(), rowlock.ErrReleased)
		require.ErrorIs(t, context.Cause(leases.Context()), rowlock.ErrReleased)
		assert.Zero(t, held(t, store))
		require.NoError(t, leases.Release(background))
		require.ErrorIs(t, (*rowlock.Leases)(nil).Release(background), rowlock.ErrNotHeld, "as after a failed call")
	})
}

// Promise 1 of docs/guarantees.md: while a call of AcquireAll waits for a held name, it holds none of its names.
func TestAllHoldsNothingWhileItWaits(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		b := acquire(t, l, "b")
		got := allOf(background, other, three)
		time.Sleep(time.Minute)
		assert.Equal(t, 1, held(t, store), "b alone")
		a := acquire(t, l, "a", rowlock.Wait(0))
		released := time.Now()
		require.NoError(t, b.Release(background))
		synctest.Wait()
		assert.Equal(t, 1, held(t, store), "now the caller waits for a")
		require.NoError(t, a.Release(background))
		result := receive(t, got)
		require.NoError(t, result.err)
		assert.Zero(t, time.Since(released))
		assert.Equal(t, 3, held(t, store))
	})
}

// Promise 9 of docs/guarantees.md: callers with overlapping sets of names, in any order, are all served, and never hold
// a part of their names.
func TestAllNeverDeadlocks(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		const workers, rounds = 6, 20
		names := []string{"a", "b", "c", "d"}
		var owners [4]atomic.Int32
		var wg sync.WaitGroup
		for w := range workers {
			l := locker(t, store)
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(w), 0))
				for range rounds {
					picked := r.Perm(len(names))[:2+r.IntN(3)]
					wanted := make([]string, len(picked))
					for i, p := range picked {
						wanted[i] = names[p]
					}
					err := l.DoAll(background, wanted, func(context.Context, *rowlock.Leases) error {
						for _, p := range picked {
							assert.EqualValues(t, 1, owners[p].Add(1))
						}
						time.Sleep(5 * time.Millisecond)
						for _, p := range picked {
							owners[p].Add(-1)
						}
						return nil
					})
					assert.NoError(t, err)
				}
			})
		}
		begun := time.Now()
		wg.Wait()
		assert.Less(t, time.Since(begun), 4*workers*rounds*5*time.Millisecond)
		synctest.Wait()
		assert.Zero(t, held(t, store))
	})
}

// hammer acquires and releases one name again and again until stop is closed.
func hammer(t *testing.T, l *rowlock.Locker, name string, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		lease, err := l.Acquire(background, name)
		if !assert.NoError(t, err) {
			return
		}
		time.Sleep(time.Millisecond)
		assert.NoError(t, lease.Release(background))
	}
}

// Promise 9 of docs/guarantees.md: a caller that wants three names is served although other callers always wait for
// each of these names.
func TestAllIsNotStarved(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 3 {
			l := locker(t, store)
			for _, name := range three {
				wg.Go(func() { hammer(t, l, name, stop) })
			}
		}
		l := locker(t, store)
		for range 8 {
			begun := time.Now()
			leases, err := l.AcquireAll(background, three)
			if !assert.NoError(t, err) {
				break
			}
			assert.Less(t, time.Since(begun), 30*time.Second, "less than a TTL")
			assert.NoError(t, leases.Release(background))
		}
		close(stop)
		wg.Wait()
	})
}

// Promise 9 of docs/guarantees.md: after eight refusals, AcquireAll holds the earlier names while it waits for the
// others. If the holder of a later name waits for an earlier name, AcquireAll releases its names within one TTL, so
// that both callers are served.
func TestAllYieldsToAnotherOrder(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		const ttl = 5 * time.Second
		l, other := locker(t, store), locker(t, store)
		names := []string{"a", "b"}
		mine := map[string]*rowlock.Lease{"a": acquire(t, l, "a")}
		got := allOf(background, other, names, rowlock.TTL(ttl))
		swap := func(from, to string) { // AcquireAll is granted the name that it waits for, and is refused the other name
			mine[to] = acquire(t, l, to, rowlock.Wait(0))
			require.NoError(t, mine[from].Release(background))
			delete(mine, from)
			synctest.Wait()
		}
		for range 3 {
			swap("a", "b")
			assert.Equal(t, 1, held(t, store), "the caller holds nothing")
			swap("b", "a")
			assert.Equal(t, 1, held(t, store))
		}
		swap("a", "b")
		require.Equal(t, 2, held(t, store), "the caller holds a, and waits for b")
		begun := time.Now()
		inner, err := l.Acquire(background, "a")
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(begun), ttl)
		time.Sleep(time.Second)
		require.NoError(t, inner.Release(background))
		require.NoError(t, mine["b"].Release(background))
		result := receive(t, got)
		require.NoError(t, result.err)
		assert.Equal(t, 2, held(t, store))
	})
}

// Promise 5 of docs/guarantees.md: a failed call of AcquireAll leaves no name held and no request in the store.
func TestAllThatFailsLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		opts []rowlock.Option
		end  func(l *rowlock.Locker, cancel func())
		want error
	}{
		"not waiting": {[]rowlock.Option{rowlock.Wait(0)}, func(*rowlock.Locker, func()) {}, rowlock.ErrHeld},
		"wait over":   {[]rowlock.Option{rowlock.Wait(time.Second)}, func(*rowlock.Locker, func()) { time.Sleep(time.Second) }, rowlock.ErrHeld},
		"cancelled":   {nil, func(_ *rowlock.Locker, cancel func()) { cancel() }, context.Canceled},
		"closed":      {nil, func(l *rowlock.Locker, _ func()) { _ = l.Close() }, rowlock.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, other := locker(t, store), locker(t, store)
				b := acquire(t, l, "b")
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				var failed []rowlock.AcquireFailedEvent
				trace := &rowlock.Trace{AcquireFailed: func(e rowlock.AcquireFailedEvent) { failed = append(failed, e) }}
				got := allOf(ctx, other, three, append(test.opts, rowlock.Tracing(trace))...)
				test.end(other, cancel)
				result := receive(t, got)
				require.ErrorIs(t, result.err, test.want)
				assert.Nil(t, result.leases)
				if test.want == rowlock.ErrHeld {
					assert.ErrorContains(t, result.err, "; all 3 names are needed")
					var who *rowlock.HeldError
					if assert.ErrorAs(t, result.err, &who) {
						assert.Equal(t, "b", who.Name)
					}
				}
				if assert.Len(t, failed, 1, "the call is reported once") {
					assert.Equal(t, result.err, failed[0].Err)
					assert.Equal(t, store.Calls(memlock.OpAcquire)-1, failed[0].Attempts)
				}
				require.NoError(t, b.Release(background))
				time.Sleep(time.Hour)
				assert.Zero(t, held(t, store))
			})
		})
	}
}

// Promise 5 of docs/guarantees.md: even if a reply is lost, AcquireAll acquires all names. After their release no name
// stays held.
func TestAllWithLostReplies(t *testing.T) {
	for lost := range 14 {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, other := locker(t, store), locker(t, store)
				b := acquire(t, l, "b")
				var calls atomic.Int32
				store.Intercept(func(c memlock.Call) memlock.Fault {
					return memlock.Fault{LoseReply: (c.Op == memlock.OpAcquire || c.Op == memlock.OpRelease) && int(calls.Add(1)) == lost+1}
				})
				got := allOf(background, other, three)
				time.Sleep(time.Second)
				if err := b.Release(background); err != nil { // the reply to this release was lost, and the other caller then acquired b
					require.ErrorIs(t, err, rowlock.ErrUnknown)
				}
				var result outcomeAll
				select {
				case result = <-got:
				case <-time.After(2 * time.Minute):
					t.Fatal("the names were not granted")
				}
				require.NoError(t, result.err)
				time.Sleep(time.Minute)
				require.NoError(t, result.leases.Err())
				assert.Equal(t, 3, held(t, store))
				require.NoError(t, result.leases.Release(background))
				time.Sleep(time.Minute)
				assert.Zero(t, held(t, store))
			})
		})
	}
}

// Promise 3 of docs/guarantees.md: the context of several leases ends when the first lease is lost, and DoAll returns
// the loss.
func TestAllEndWithTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		err := l.DoAll(background, three, func(ctx context.Context, leases *rowlock.Leases) error {
			assert.Equal(t, leases.All(), rowlock.LeasesFromContext(ctx))
			require.NoError(t, l.ForceRelease(background, "b", leases.Lease("b").Token()))
			<-ctx.Done()
			var lost *rowlock.LostError
			require.ErrorAs(t, context.Cause(ctx), &lost)
			assert.Equal(t, "b", lost.Name)
			require.ErrorAs(t, leases.Err(), &lost)
			assert.Equal(t, "b", lost.Name)
			assert.NoError(t, leases.Lease("a").Err())
			return nil
		})
		require.ErrorIs(t, err, rowlock.ErrLost)
		assert.Zero(t, held(t, store))
	})
}

// If AcquireAll fails, MinHold does not apply to the names that were granted to it meanwhile.
func TestAllIgnoresMinHoldForWhatItGivesBack(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		acquire(t, l, "b")
		_, err := other.AcquireAll(background, three, rowlock.MinHold(time.Hour), rowlock.Wait(0))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		acquire(t, l, "a", rowlock.Wait(0))
	})
}

// AcquireAll seals each lease once, after all names have been granted. If one seal fails, no name stays held.
func TestAllSealsWhenAllAreGranted(t *testing.T) {
	broken := errors.New("broken")
	for _, fail := range []error{nil, broken} {
		t.Run(fmt.Sprint(fail), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, other := locker(t, store), locker(t, store)
				b := acquire(t, l, "b")
				guard := &anySealer{err: fail}
				got := allOf(background, other, three, rowlock.Fenced(guard))
				time.Sleep(time.Minute)
				assert.Zero(t, guard.seals.Load())
				require.NoError(t, b.Release(background))
				result := receive(t, got)
				require.ErrorIs(t, result.err, fail)
				assert.EqualValues(t, 3, guard.seals.Load())
				synctest.Wait()
				want := 3
				if fail != nil {
					want = 0
				}
				assert.Equal(t, want, held(t, store))
			})
		})
	}
}

// If the list of names is invalid, the error says why, and no request is sent.
func TestAllRefusesLists(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		for want, names := range map[string][]string{
			"all of 0 names":     nil,
			"all of 65 names":    rowlock.Slots("gpu", 65),
			`"a" is given twice`: {"a", "b", "a"},
			"name is empty":      {"a", ""},
		} {
			_, err := l.AcquireAll(background, names)
			assert.ErrorContains(t, err, want)
		}
		assert.Zero(t, store.Calls(memlock.OpAcquire))
		lease := acquire(t, l, "a")
		_, err := l.AcquireAll(lease.Context(), three)
		require.ErrorIs(t, err, rowlock.ErrNested)
	})
}

// If the store is unreachable for a while, AcquireAll retries as Acquire does. It fails if a retry cannot help.
func TestAllOutlastsAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		away := time.Now().Add(20 * time.Second)
		store.Intercept(func(memlock.Call) memlock.Fault {
			if time.Now().Before(away) {
				return memlock.Fault{Fail: driver.NotApplied(errors.New("away"))}
			}
			return memlock.Fault{}
		})
		leases, err := l.AcquireAll(background, three)
		require.NoError(t, err)
		assert.Equal(t, 3, held(t, store))
		require.NoError(t, leases.Release(background))

		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{Fail: driver.Permanent(errors.New("no table"))} })
		_, err = l.AcquireAll(background, three)
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		assert.ErrorContains(t, err, "no table")
	})
}

// Promise 5 of docs/guarantees.md: if a function of a Trace panics, the caller of AcquireAll gets the panic, and no
// name stays held.
func TestAllPassesThePanicOfATraceOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(e rowlock.AcquiredEvent) {
			if e.Name == "b" {
				panic("trace")
			}
		}}))
		assert.PanicsWithValue(t, "trace", func() { _, _ = l.AcquireAll(background, three) })
		assert.Zero(t, held(t, store))
	})
}

// Promise 1 of docs/guarantees.md: AcquireAll returns no lease that has ended meanwhile. With a short MaxHold, it
// acquires the names again.
func TestAllReturnsNoEndedLease(t *testing.T) {
	names := []string{"a", "b"}
	t.Run("at once", func(t *testing.T) {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			store.Intercept(func(c memlock.Call) memlock.Fault {
				return memlock.Fault{LoseRequest: c.Op == memlock.OpAcquire && c.N == 1}
			})
			leases, err := locker(t, store).AcquireAll(background, names, rowlock.MaxHold(time.Second))
			require.NoError(t, err)
			require.NoError(t, leases.Err())
		})
	})
	t.Run("in order", func(t *testing.T) {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			l, other := locker(t, store), locker(t, store)
			held := acquire(t, l, "a")
			got := allOf(background, other, names, rowlock.MaxHold(time.Second))
			for i := range 7 {
				next := acquire(t, l, names[(i+1)%2], rowlock.Wait(0))
				require.NoError(t, held.Release(background))
				held = next
				synctest.Wait()
			}
			time.Sleep(2 * time.Second) // the caller has acquired a, and waits for b
			require.NoError(t, held.Release(background))
			result := receive(t, got)
			require.NoError(t, result.err)
			require.NoError(t, result.leases.Err())
		})
	})
	t.Run("never", func(t *testing.T) {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			store.Intercept(func(c memlock.Call) memlock.Fault {
				return memlock.Fault{LoseRequest: c.Op == memlock.OpAcquire && c.N%2 == 1}
			})
			_, err := locker(t, store).AcquireAll(background, names, rowlock.MaxHold(time.Second), rowlock.Wait(0))
			require.ErrorIs(t, err, rowlock.ErrUnavailable)
			require.NotErrorIs(t, err, rowlock.ErrLost)
			time.Sleep(time.Minute)
			assert.Zero(t, held(t, store))
		})
	})
}

// Promise 10 of docs/guarantees.md: Wait limits the whole call, even if AcquireAll is granted each name for which it
// waits.
func TestAllWaitsNoLongerThanWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		held := acquire(t, l, "a")
		begun := time.Now()
		got := allOf(background, other, []string{"a", "b"}, rowlock.Wait(3*time.Second))
		for i := range 3 { // each time, the caller is granted the name for which it waits, and is refused the other name
			time.Sleep(1500 * time.Millisecond)
			next := acquire(t, l, []string{"b", "a"}[i%2], rowlock.Wait(0))
			require.NoError(t, held.Release(background))
			held = next
			synctest.Wait()
		}
		result := receive(t, got)
		require.ErrorIs(t, result.err, rowlock.ErrHeld)
		assert.ErrorContains(t, result.err, "; waited 3s; all 2 names are needed")
		assert.Equal(t, 4500*time.Millisecond, time.Since(begun))
	})
}

// narrow is a store that refuses every request for a second name, as a pool of one connection does.
type narrow struct{ *memlock.Backend }

func (n narrow) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	list, err := n.List(ctx, "", true)
	for _, s := range list {
		if s.State == driver.StateHeld && s.Key != r.Key {
			err = driver.NotApplied(errors.New("no connection is free"))
		}
	}
	if err != nil {
		return driver.Grant{}, err
	}
	return n.Backend.Acquire(ctx, r)
}

// Promise 10 of docs/guarantees.md: AcquireAll does not retry without a limit if the store grants each name, but never
// all of them.
func TestAllGivesUpIfTheStoreNeverGrantsAll(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, narrow{store})
		begun := time.Now()
		_, err := l.AcquireAll(background, three)
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		assert.ErrorContains(t, err, "no connection is free")
		assert.Less(t, time.Since(begun), 2*time.Minute)
		assert.Zero(t, held(t, store))
	})
}

// sealing is a guard that has a function for each name. It seals a lease by calling the function of the lease's name.
type sealing map[string]func(ctx context.Context, lease *rowlock.Lease) error

func (s sealing) Seal(ctx context.Context, lease *rowlock.Lease, _ ...string) error {
	return s[lease.Name()](ctx, lease)
}

// If one seal fails, or one lease is lost, AcquireAll stops the seals of the other names, and returns the cause.
func TestAllStopsSealingAfterAFailure(t *testing.T) {
	broken := errors.New("broken")
	sealed := func(context.Context, *rowlock.Lease) error { return nil }
	waits := func(ctx context.Context, _ *rowlock.Lease) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for name, test := range map[string]struct {
		fail func(ctx context.Context, lease *rowlock.Lease) error
		want error
	}{
		"error":  {func(context.Context, *rowlock.Lease) error { return broken }, broken},
		"panic":  {func(context.Context, *rowlock.Lease) error { panic(broken) }, broken},
		"lost":   {sealed, rowlock.ErrLost},
		"ending": {waits, rowlock.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				if errors.Is(test.want, rowlock.ErrLost) {
					time.AfterFunc(time.Second, func() { store.Lose("b") })
				}
				begun := time.Now()
				err := func() (err error) {
					defer func() {
						if r := recover(); r != nil {
							err = r.(error)
						}
					}()
					_, err = l.AcquireAll(background, three, rowlock.Fenced(sealing{"a": waits, "b": test.fail, "c": waits}))
					return err
				}()
				require.ErrorIs(t, err, test.want)
				assert.Less(t, time.Since(begun), time.Minute)
				assert.Zero(t, held(t, store))
			})
		})
	}
}
