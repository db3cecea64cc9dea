package rowlock_test

import (
	"context"
	"errors"
	"fmt"
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

// held returns the number of held names in the store.
func held(t *testing.T, store *memlock.Backend) (count int) {
	t.Helper()
	list, err := store.List(background, "", true)
	require.NoError(t, err)
	for _, s := range list {
		if s.State == driver.StateHeld {
			count++
		}
	}
	return count
}

// anyOf calls AcquireAny in the background.
func anyOf(ctx context.Context, l *rowlock.Locker, names []string, opts ...rowlock.Option) chan outcome {
	got := make(chan outcome, 1)
	go func() {
		lease, err := l.AcquireAny(ctx, names, opts...)
		got <- outcome{lease, err}
	}()
	synctest.Wait()
	return got
}

// Promise 1 of docs/guarantees.md: at most n slots are held at the same time, all n slots are used, and each waiter
// acquires a slot in the end.
func TestSlotsAdmitAtMostN(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		const slots, workers, rounds = 3, 8, 5
		var working, most, done atomic.Int32
		var wg sync.WaitGroup
		for range 3 { // one Locker stands for one process
			l := locker(t, store)
			for range workers {
				wg.Go(func() {
					for range rounds {
						err := l.DoAny(background, rowlock.Slots("gpu", slots), func(context.Context, *rowlock.Lease) error {
							most.Store(max(most.Load(), working.Add(1)))
							time.Sleep(10 * time.Millisecond)
							working.Add(-1)
							return nil
						})
						if assert.NoError(t, err) {
							done.Add(1)
						}
					}
				})
			}
		}
		begun := time.Now()
		wg.Wait()
		assert.EqualValues(t, slots, most.Load())
		assert.EqualValues(t, 3*workers*rounds, done.Load())
		assert.Less(t, time.Since(begun), 2*3*workers*rounds*10*time.Millisecond/slots, "no slot is free while a caller waits")
		synctest.Wait()
		assert.Zero(t, held(t, store))
	})
}

// Promise 9 of docs/guarantees.md: AcquireAny returns as soon as one of its names becomes free.
func TestAnyWaitsForTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		names := rowlock.Slots("gpu", 3)
		var leases []*rowlock.Lease
		for range names {
			lease, err := l.AcquireAny(background, names)
			require.NoError(t, err)
			leases = append(leases, lease)
		}
		got := anyOf(background, other, names)
		time.Sleep(time.Minute)
		released := time.Now()
		require.NoError(t, leases[1].Release(background))
		next := receive(t, got)
		require.NoError(t, next.err)
		assert.Equal(t, leases[1].Name(), next.lease.Name())
		assert.Greater(t, next.lease.Token(), leases[1].Token())
		assert.Zero(t, time.Since(released))
		assert.Equal(t, 3, held(t, store))
	})
}

// Promise 1 of docs/guarantees.md: if two names become free at the same moment, the caller keeps one name, and the
// other name becomes free again.
func TestAnyKeepsOne(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		names := rowlock.Slots("gpu", 2)
		a, b := acquire(t, l, names[0]), acquire(t, l, names[1])
		var lost atomic.Int32
		got := anyOf(background, other, names, rowlock.Tracing(&rowlock.Trace{AcquireFailed: func(rowlock.AcquireFailedEvent) { lost.Add(1) }}))
		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{Reply: time.Millisecond} }) // the store grants both requests before the first reply arrives
		var wg sync.WaitGroup
		for _, lease := range []*rowlock.Lease{a, b} {
			wg.Go(func() { assert.NoError(t, lease.Release(background)) })
		}
		wg.Wait()
		won := receive(t, got)
		require.NoError(t, won.err)
		time.Sleep(10 * time.Millisecond)
		assert.Equal(t, 1, held(t, store))
		assert.Zero(t, lost.Load(), "the call did not fail")
		time.Sleep(time.Hour)
		require.NoError(t, won.lease.Err())
		assert.Equal(t, 1, held(t, store))
	})
}

// Promise 5 of docs/guarantees.md: a failed call of AcquireAny leaves no request in the store. So no later release
// grants a name to that call.
func TestAnyThatFailsLeavesNothing(t *testing.T) {
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
				names := rowlock.Slots("gpu", 2)
				a, b := acquire(t, l, names[0]), acquire(t, l, names[1])
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				var failed []rowlock.AcquireFailedEvent
				trace := &rowlock.Trace{AcquireFailed: func(e rowlock.AcquireFailedEvent) { failed = append(failed, e) }}
				got := anyOf(ctx, other, names, append(test.opts, rowlock.Tracing(trace))...)
				test.end(other, cancel)
				result := receive(t, got)
				require.ErrorIs(t, result.err, test.want)
				if test.want == rowlock.ErrHeld {
					assert.ErrorContains(t, result.err, "; none of the 2 names was free")
					var who *rowlock.HeldError
					assert.ErrorAs(t, result.err, &who)
				}
				if assert.Len(t, failed, 1, "the call is reported once") {
					assert.Equal(t, result.err, failed[0].Err)
					assert.Equal(t, store.Calls(memlock.OpAcquire)-2, failed[0].Attempts)
				}
				require.NoError(t, a.Release(background))
				require.NoError(t, b.Release(background))
				time.Sleep(time.Hour)
				assert.Zero(t, held(t, store))
			})
		})
	}
}

// Promise 5 of docs/guarantees.md: even if replies are lost, a successful call of AcquireAny leaves exactly one slot
// held. A failed call leaves none.
func TestAnyWithLostReplies(t *testing.T) {
	for lost := range 12 {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, other := locker(t, store), locker(t, store)
				names := rowlock.Slots("gpu", 2)
				a, b := acquire(t, l, names[0]), acquire(t, l, names[1])
				var calls atomic.Int32
				store.Intercept(func(c memlock.Call) memlock.Fault {
					return memlock.Fault{LoseReply: c.Op == memlock.OpAcquire && int(calls.Add(1)) == lost+1}
				})
				got := anyOf(background, other, names)
				require.NoError(t, a.Release(background))
				require.NoError(t, b.Release(background))
				var result outcome
				select {
				case result = <-got:
				case <-time.After(time.Minute):
					t.Fatal("no name was granted")
				}
				require.NoError(t, result.err)
				time.Sleep(time.Minute)
				assert.Equal(t, 1, held(t, store))
				require.NoError(t, result.lease.Release(background))
				time.Sleep(time.Minute)
				assert.Zero(t, held(t, store))
			})
		})
	}
}

// Promise 5 of docs/guarantees.md: if the store grants two names at the same time, AcquireAny keeps one of them.
func TestAnyKeepsOneOfTwoGrants(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		names := rowlock.Slots("gpu", 2)
		l := locker(t, store)
		a, b := acquire(t, l, names[0]), acquire(t, l, names[1])
		both := make(chan struct{})
		var acquired, released atomic.Int32
		other := locker(t, store, rowlock.MinHold(time.Hour), rowlock.Tracing(&rowlock.Trace{
			Acquired: func(rowlock.AcquiredEvent) { // returns after the second grant, so that neither grant is late
				if acquired.Add(1) == 2 {
					close(both)
				}
				<-both
			},
			Released: func(rowlock.ReleasedEvent) { released.Add(1) },
		}))
		got := anyOf(background, other, names)
		require.NoError(t, a.Release(background))
		require.NoError(t, b.Release(background))
		result := receive(t, got)
		require.NoError(t, result.err)
		assert.Equal(t, 1, held(t, store))
		assert.EqualValues(t, 1, released.Load())
		for _, name := range names {
			if name != result.lease.Name() {
				acquire(t, l, name) // MinHold does not apply to a lease that no caller has had
			}
		}
	})
}

// anySealer is a guard that counts its seals. Each seal fails with err.
type anySealer struct {
	seals atomic.Int32
	err   error
}

func (s *anySealer) Seal(ctx context.Context, _ *rowlock.Lease, _ ...string) error {
	s.seals.Add(1)
	return errors.Join(s.err, ctx.Err())
}

// AcquireAny seals only the lease that it keeps, with the caller's ctx. If sealing fails, no name stays held.
func TestAnySealsWhatItKeeps(t *testing.T) {
	broken := errors.New("broken")
	for _, fail := range []error{nil, broken} {
		t.Run(fmt.Sprint(fail), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, other := locker(t, store), locker(t, store)
				names := rowlock.Slots("gpu", 2)
				a, b := acquire(t, l, names[0]), acquire(t, l, names[1])
				guard := &anySealer{err: fail}
				got := anyOf(background, other, names, rowlock.Fenced(guard))
				require.NoError(t, a.Release(background))
				require.NoError(t, b.Release(background))
				result := receive(t, got)
				assert.ErrorIs(t, result.err, fail)
				assert.EqualValues(t, 1, guard.seals.Load())
				synctest.Wait()
				want := 1
				if fail != nil {
					want = 0
				}
				assert.Equal(t, want, held(t, store))
			})
		})
	}
}

// If the list of names is invalid, the error says why, and no request is sent.
func TestAnyRefusesLists(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		for want, names := range map[string][]string{
			"any of 0 names":       nil,
			"any of 65 names":      rowlock.Slots("gpu", 65),
			`"a" is given twice`:   {"a", "b", "a"},
			"name is empty":        {"a", ""},
			"any of 0 names: must": rowlock.Slots("gpu", -1),
		} {
			_, err := l.AcquireAny(background, names)
			assert.ErrorContains(t, err, want)
		}
		assert.Zero(t, store.Calls(memlock.OpAcquire))
		lease := acquire(t, l, "gpu/0")
		_, err := l.AcquireAny(lease.Context(), rowlock.Slots("gpu", 2))
		require.ErrorIs(t, err, rowlock.ErrNested, "a holder of a slot that waits for another slot may wait for itself")
	})
}

// If the store is unreachable while AcquireAny tries the names, AcquireAny retries as Acquire does.
func TestAnyOutlastsAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		away := time.Now().Add(20 * time.Second)
		store.Intercept(func(memlock.Call) memlock.Fault {
			if time.Now().Before(away) {
				return memlock.Fault{Fail: driver.NotApplied(errors.New("away"))}
			}
			return memlock.Fault{}
		})
		lease, err := l.AcquireAny(background, rowlock.Slots("gpu", 2))
		require.NoError(t, err)
		assert.Equal(t, 1, held(t, store))
		require.NoError(t, lease.Release(background))

		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{Fail: driver.Permanent(errors.New("no table"))} })
		_, err = l.AcquireAny(background, rowlock.Slots("gpu", 2))
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		assert.ErrorContains(t, err, "no table")
	})
}

// Promise 5 of docs/guarantees.md: if a function of a Trace panics when a name is granted without a wait, no name stays
// held.
func TestAnyLeavesNothingWhenATracePanics(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(rowlock.AcquiredEvent) { panic("trace") }}))
		assert.PanicsWithValue(t, "trace", func() { _, _ = l.AcquireAny(background, rowlock.Slots("gpu", 2)) })
		assert.Zero(t, held(t, store))
	})
}

// Promise 5 of docs/guarantees.md: a function of a Trace may panic when a name is granted after a wait. Then the caller
// of AcquireAny gets the panic, as a caller of Acquire does. No name stays held or requested.
func TestAnyPassesThePanicOfATraceOn(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(rowlock.AcquiredEvent) { panic("trace") }}))
		a, b := acquire(t, l, "gpu/0"), acquire(t, l, "gpu/1")
		go func() {
			time.Sleep(time.Minute)
			assert.NoError(t, a.Release(background))
		}()
		assert.PanicsWithValue(t, "trace", func() { _, _ = other.AcquireAny(background, rowlock.Slots("gpu", 2)) })
		require.NoError(t, b.Release(background))
		time.Sleep(time.Hour)
		assert.Zero(t, held(t, store))
	})
}

// slowReply is a store whose replies to waiters for one name take 10 ms. It counts the requests of waiters for this name,
// the requests that the engine cancels, and the releases.
type slowReply struct {
	*memlock.Backend

	name                       string
	asked, cancelled, released atomic.Int32
}

func (b *slowReply) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Key.Name == b.name && r.Waiting {
		b.asked.Add(1)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			b.cancelled.Add(1)
			return driver.Grant{}, ctx.Err()
		}
	}
	return b.Backend.Acquire(ctx, r)
}

func (b *slowReply) Release(ctx context.Context, g driver.Grant) error {
	if g.Key.Name == b.name {
		b.released.Add(1)
	}
	return b.Backend.Release(ctx, g)
}

// Promise 9 of docs/guarantees.md: when AcquireAny is granted one name, it awaits the replies to its requests for the
// other names. So the connections stay usable, and no release of unknown effect is needed. The next caller
// continues with these refusals.
func TestAnyAwaitsTheOtherReplies(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		holder, names := locker(t, store), rowlock.Slots("gpu", 2)
		first := acquire(t, holder, names[0])
		acquire(t, holder, names[1])
		slow := &slowReply{Backend: store, name: names[1]}
		other := locker(t, slow)
		got := anyOf(background, other, names)
		anyOf(background, other, names)
		require.NoError(t, first.Release(background)) // while a request for the other name is in progress
		won := receive(t, got)
		require.NoError(t, won.err)
		assert.Equal(t, names[0], won.lease.Name())
		time.Sleep(5 * time.Millisecond)
		assert.EqualValues(t, 1, slow.asked.Load())
		assert.Zero(t, slow.cancelled.Load())
		assert.Zero(t, slow.released.Load())
	})
}
