package rowlock_test

import (
	"context"
	"errors"
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

// crowd starts n goroutines. Each goroutine acquires the name through l and holds it for the duration hold. It does
// that as many times as the parameter times says. crowd calls the function served with each lease.
func crowd(t *testing.T, l *rowlock.Locker, n, times int, hold time.Duration, served func(i int, lease *rowlock.Lease)) *sync.WaitGroup {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for range times {
				lease, err := l.Acquire(background, "a")
				if !assert.NoError(t, err) {
					return
				}
				served(i, lease)
				time.Sleep(hold)
				assert.NoError(t, lease.Err())
				assert.NoError(t, lease.Release(background))
			}
		})
		synctest.Wait() // the waiters arrive in this order
	}
	return &wg
}

// A release hands the name over to the waiters of its process in order of arrival. Each hand-over takes one request and
// gives the waiter a larger token. A separate release and a separate acquire are sent only at the end of a series.
func TestReleaseHandsOverToTheNextWaiter(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var handed, acquired atomic.Int32
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(e rowlock.AcquiredEvent) {
			acquired.Add(1)
			if e.HandedOver {
				handed.Add(1)
			}
		}}))
		first := acquire(t, l, "a")
		var order []int
		last := first.Token()
		const waiters = 64
		wg := crowd(t, l, waiters, 1, time.Millisecond, func(i int, lease *rowlock.Lease) {
			order = append(order, i)
			assert.Greater(t, lease.Token(), last)
			last = lease.Token()
		})
		before := store.Calls(memlock.OpAcquire) + store.Calls(memlock.OpRelease)
		require.NoError(t, first.Release(background))
		wg.Wait()
		for i, got := range order {
			require.Equal(t, i, got)
		}
		through := store.Calls(memlock.OpAcquire) + store.Calls(memlock.OpRelease) - before
		assert.EqualValues(t, waiters+1, acquired.Load())
		assert.EqualValues(t, handed.Load(), store.Calls(memlock.OpHandOver))
		assert.GreaterOrEqual(t, int(handed.Load()), waiters*9/10)
		assert.LessOrEqual(t, through, 2*(waiters/17+1), "only the end and the beginning of each series, and no refused request")
		t.Logf("%d hand-overs, %d other requests", handed.Load(), through)
	})
}

// After sixteen hand-overs in a row, or after 100 ms, the release frees the name in the store. A waiter of another
// process can then acquire it.
func TestOtherProcessesAcquireBetweenSeriesOfHandOvers(t *testing.T) {
	for name, hold := range map[string]time.Duration{"by number": time.Millisecond, "by time": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				var mu sync.Mutex
				row, longest, others := 0, 0, 0
				var began time.Time
				l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(e rowlock.AcquiredEvent) {
					mu.Lock()
					defer mu.Unlock()
					row++
					if !e.HandedOver {
						row, began = 0, time.Now()
					}
					longest = max(longest, row)
					assert.LessOrEqual(t, time.Since(began), 100*time.Millisecond+hold)
				}}))
				other := locker(t, store)
				const times = 40
				wg := crowd(t, l, 20, times, hold, func(int, *rowlock.Lease) {})
				beside := crowd(t, other, 1, times, hold, func(int, *rowlock.Lease) { mu.Lock(); others++; mu.Unlock() })
				wg.Wait()
				mu.Lock()
				assert.GreaterOrEqual(t, others, 5, "of about fifty series or more")
				assert.LessOrEqual(t, longest, 16)
				assert.Positive(t, longest)
				t.Logf("%d holds of the other process, at most %d hand-overs in a row", others, longest)
				mu.Unlock()
				beside.Wait()
			})
		})
	}
}

// If the notification at the end of a series of hand-overs is lost, the next waiter of the process still acquires the
// name at once, because the release wakes it.
func TestASeriesOfHandOversEndsWithoutANotification(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, deaf{store})
		first := acquire(t, l, "a")
		wg := crowd(t, l, 160, 1, time.Millisecond, func(int, *rowlock.Lease) {})
		began := time.Now()
		require.NoError(t, first.Release(background))
		wg.Wait()
		assert.Less(t, time.Since(began), 165*time.Millisecond, "160 holds of 1 ms")
	})
}

// After a series of hand-overs, the release frees the name and wakes the first waiter of its own process. That waiter
// then acquires the name with its next request. The store notifies the process, too. If the releaser pauses between the
// notification and its own wake-up, that wake-up makes the next waiter send a request, which is refused. This is rare.
func TestFewRequestsAreRefusedAfterASeriesOfHandOvers(t *testing.T) {
	ends, refusals := 0, 0
	for range 20 {
		e, r := seriesOfHandOvers(t)
		ends += e
		refusals += r
	}
	t.Logf("%d ends of a series, %d refused requests", ends, refusals)
	assert.LessOrEqual(t, refusals, ends/4)
}

// seriesOfHandOvers lets waiters hand a name over, and returns how many series ended, and how many requests were refused.
func seriesOfHandOvers(t *testing.T) (ends, refusals int) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var through atomic.Int32
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Acquired: func(e rowlock.AcquiredEvent) {
			if !e.HandedOver {
				through.Add(1)
			}
		}}))
		refused := func() int { return store.Calls(memlock.OpAcquire) - int(through.Load()) }
		first := acquire(t, l, "a")
		wg := crowd(t, l, 60, 1, 7*time.Millisecond, func(int, *rowlock.Lease) {}) // the hold is shorter than the poll interval
		before := refused()
		require.NoError(t, first.Release(background))
		wg.Wait()
		assert.GreaterOrEqual(t, through.Load(), int32(3), "series of 100 ms at most")
		ends, refusals = int(through.Load()), refused()-before
	})
	return ends, refusals
}

// If two callers hand the name to each other, their hand-overs also count as a series, and a series is limited. So the
// name is freed in the store at least once in 17 holds.
func TestTwoAlternatingCallersMakeASeriesOfHandOvers(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		const times = 100
		crowd(t, l, 2, times, time.Millisecond, func(int, *rowlock.Lease) {}).Wait()
		assert.Positive(t, store.Calls(memlock.OpHandOver))
		assert.GreaterOrEqual(t, store.Calls(memlock.OpRelease), 2*times/17)
	})
}

// A release does not hand the name over if the lease's minimum hold is not over, if the lease was held for 100 ms, or
// if a ReleaseWith of the lease was tried. In these cases it frees the name in the store.
func TestSomeLeasesAreNotHandedOver(t *testing.T) {
	for name, test := range map[string]struct {
		opts   []rowlock.Option
		before func(*rowlock.Lease)
		wait   time.Duration
	}{
		"plain":                         {wait: 0},
		"minimum hold runs":             {opts: []rowlock.Option{rowlock.MinHold(time.Minute)}, wait: time.Minute},
		"another end has been tried":    {before: func(l *rowlock.Lease) { _ = l.ReleaseWith(background, func(context.Context) error { return errEnd }) }},
		"held for longer than a burst":  {before: func(*rowlock.Lease) { time.Sleep(100 * time.Millisecond) }},
		"minimum hold of what comes":    {},
		"a hand-over delay is no cause": {opts: []rowlock.Option{rowlock.HandoverDelay(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				lease := acquire(t, l, "a", test.opts...)
				if test.before != nil {
					test.before(lease)
				}
				next := waitFor(t, l, background)
				require.NoError(t, lease.Release(background))
				start := time.Now()
				got := <-next
				require.NoError(t, got.err)
				assert.InDelta(t, test.wait, time.Since(start), float64(100*time.Millisecond))
				require.NoError(t, got.lease.Release(background))
				handed := name == "plain" || name == "minimum hold of what comes" || name == "a hand-over delay is no cause"
				assert.Equal(t, handed, store.Calls(memlock.OpHandOver) == 1)
			})
		})
	}
}

// If the reply to a hand-over is lost, the hand-over is repeated. After the second reply the waiter has the name,
// and no further request is sent.
func TestAHandOverIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		next := waitFor(t, l, background)
		store.LoseReply(memlock.OpHandOver)
		require.NoError(t, lease.Release(background))
		got := receive(t, next)
		require.NoError(t, got.err)
		status, err := store.Inspect(background, driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, status.Token, got.lease.Token())
		assert.GreaterOrEqual(t, status.ExpiresIn, time.Until(got.lease.ExpiresAt()), "promise 2 of docs/guarantees.md")
		assert.Equal(t, 2, store.Calls(memlock.OpHandOver))
		require.NoError(t, got.lease.Release(background))
		assert.Equal(t, 1, store.Calls(memlock.OpRelease))
	})
}

type outcome struct {
	lease *rowlock.Lease
	err   error
}

// waitFor starts an Acquire in the background, and returns when that Acquire waits.
func waitFor(t *testing.T, l *rowlock.Locker, ctx context.Context) chan outcome {
	t.Helper()
	got := make(chan outcome, 1)
	go func() {
		lease, err := l.Acquire(ctx, "a")
		got <- outcome{lease, err}
	}()
	synctest.Wait()
	return got
}

// If a hand-over fails or gets no reply, the holder sends a release. If the store replies that it no longer has the
// lease, the hand-over may have ended the lease, so the lease does not count as lost. The waiter acquires the name
// within seconds.
func TestHandOverOfUnknownOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		fault   memlock.Fault
		release error
	}{
		"replies lost":    {memlock.Fault{LoseReply: true}, rowlock.ErrUnknown},
		"requests lost":   {memlock.Fault{LoseRequest: true}, nil},
		"refused":         {memlock.Fault{Fail: driver.NotApplied(errors.New("no connection"))}, nil},
		"not understood":  {memlock.Fault{Fail: driver.Permanent(errors.New("no such statement"))}, nil},
		"requests late":   {memlock.Fault{Request: 4 * time.Second, Late: true}, nil},
		"broken with EOF": {memlock.Fault{Fail: errors.New("EOF")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				lease := acquire(t, l, "a")
				next := waitFor(t, l, background)
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpHandOver: test.fault})
				began := time.Now()
				err := lease.Release(background)
				assert.LessOrEqual(t, time.Since(began), 5*time.Second, "the limit of a release")
				require.NotErrorIs(t, err, rowlock.ErrLost)
				require.ErrorIs(t, err, test.release)
				got := <-next
				require.NoError(t, got.err)
				assert.LessOrEqual(t, time.Since(began), 5*time.Second, "it acquires the name long before the lease would have ended")
				time.Sleep(10 * time.Second)
				require.NoError(t, got.lease.Release(background))
				status, err := store.Inspect(background, driver.Key{Name: "a"})
				require.NoError(t, err)
				assert.Equal(t, driver.StateFree, status.State)
			})
		})
	}
}

// If a lease was lost and nobody noticed, the release reports the loss and does not hand the name over.
func TestALostLeaseIsNotHandedOver(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		next := waitFor(t, l, background)
		store.Advance(time.Minute) // the lease expires in the store, and the waiter gets no notification
		thief, err := store.Acquire(background, driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: time.Minute})
		require.NoError(t, err)
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		require.NoError(t, store.Release(background, thief))
		got := receive(t, next)
		require.NoError(t, got.err)
		require.NoError(t, got.lease.Release(background))
	})
}

// A waiter gets no hand-over if the store may have granted an earlier request of this waiter. The store would then
// answer the hand-over with the earlier grant, and the release would not notice that its lease was lost.
func TestNoHandOverToAWaiterWithAMissingReply(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store, rowlock.TTL(6*time.Second)), locker(t, store)
		before := acquire(t, other, "a")
		late := time.Second + 5*time.Millisecond // the waiter's request times out after 1 s, and the waiter retries after at least 10 ms
		var once sync.Once
		store.Intercept(func(memlock.Call) (f memlock.Fault) {
			once.Do(func() { f = memlock.Fault{Request: late, Late: true} })
			return f
		})
		next := waitFor(t, l, background)
		time.Sleep(950 * time.Millisecond)
		require.NoError(t, before.Release(background))
		lease, err := l.TryAcquire(background, "a")
		require.NoError(t, err)
		time.Sleep(52 * time.Millisecond)
		store.Lose("a")
		time.Sleep(4 * time.Millisecond)
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		got := receive(t, next)
		require.NoError(t, got.err)
		require.NoError(t, got.lease.Release(background))
	})
}

// A hand-over may happen at the same time as the end of the waiter's wait, or as Close. In both cases no lease is
// left behind. The next waiter acquires the name, unless Close ends its wait.
func TestHandOverAtTheEndOfAWait(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Millisecond} {
		for name, end := range map[string]func(l *rowlock.Locker, cancel func()){
			"its ctx ends":    func(_ *rowlock.Locker, cancel func()) { cancel() },
			"Close is called": func(l *rowlock.Locker, _ func()) { _ = l.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				const times = 200
				served := 0
				for n := range times {
					bubble(t, func(t *testing.T, store *memlock.Backend) {
						if handOverAtTheEnd(t, store, n, slow, end) {
							served++
						}
					})
				}
				assert.Positive(t, served, "in some runs the hand-over comes first")
				assert.Less(t, served, times, "in some runs the end of the wait comes first")
			})
		}
	}
}

// handOverAtTheEnd calls Release and the function end at the same time, while two waiters wait. It reports whether the
// first waiter acquired the name.
func handOverAtTheEnd(t *testing.T, store *memlock.Backend, n int, slow time.Duration, end func(*rowlock.Locker, func())) (served bool) {
	store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{Request: slow, Reply: slow} })
	l, other := locker(t, store), locker(t, store)
	lease := acquire(t, l, "a")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	front := waitFor(t, l, ctx)
	behind := waitFor(t, l, background)
	time.Sleep(10 * slow)
	synctest.Wait()
	var wg sync.WaitGroup
	both := []func(){
		func() { assert.NoError(t, lease.Release(background)) },
		// first sleeps, because virtual time does not advance while a goroutine waits for a mutex
		func() { time.Sleep(time.Duration(1+n%8) * slow / 2); end(l, cancel) },
	}
	for i := range both {
		wg.Go(both[(i+n)%2])
	}
	wg.Wait()
	for _, w := range []chan outcome{front, behind} {
		got := <-w
		if got.err == nil {
			served = served || w == front
			assert.NoError(t, got.lease.Release(background))
			continue
		}
		assert.True(t, errors.Is(got.err, context.Canceled) || errors.Is(got.err, rowlock.ErrClosed), "%v", got.err)
		if w == behind {
			assert.ErrorIs(t, got.err, rowlock.ErrClosed)
		}
	}
	began := time.Now()
	require.NoError(t, acquire(t, other, "a").Release(background))
	assert.Less(t, time.Since(began), 3*time.Second, "no lease is left behind")
	return served
}

// Close releases its leases in the store. It does not hand a lease over to a waiter.
func TestCloseHandsNothingOver(t *testing.T) {
	for range 100 {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			l := locker(t, store)
			acquire(t, l, "a")
			got := waitFor(t, l, background)
			require.NoError(t, l.Close())
			require.ErrorIs(t, receive(t, got).err, rowlock.ErrClosed)
			require.Zero(t, store.Calls(memlock.OpHandOver))
		})
	}
}

// A waiter gets no hand-over if the store may still grant an earlier request of this waiter. A reply to the hand-over
// would not show whether the store granted the hand-over or the earlier request. So the release could not detect that
// the holder had lost the name.
func TestAWaiterWithAMissingReplyGetsNoHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		got := waitFor(t, l, background)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Fail: errors.New("EOF")}})
		time.Sleep(70 * time.Millisecond) // the waiter polls meanwhile
		faults(store, nil)
		require.Greater(t, store.Calls(memlock.OpAcquire), 3, "it has")
		require.NoError(t, lease.Release(background))
		require.NoError(t, receive(t, got).err)
		require.Zero(t, store.Calls(memlock.OpHandOver))
	})
}

// brittle is a backend that panics in HandOver.
type brittle struct{ *memlock.Backend }

func (brittle) HandOver(context.Context, driver.Grant, driver.Request) (driver.Grant, error) {
	panic("brittle")
}

// If the backend panics in a hand-over, the waiter sends its own request and acquires the name.
func TestAHandOverThatPanicsBlocksNoWaiter(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, brittle{store}, rowlock.TTL(ttl))
		first := acquire(t, l, "a")
		got := make(chan *rowlock.Lease, 1)
		go func() {
			lease, _ := acquireWithin(t, 2*ttl, l, "a")
			got <- lease
		}()
		synctest.Wait()
		require.Panics(t, func() { _ = first.Release(background) })
		assert.Greater(t, (<-got).Token(), first.Token())
	})
}

// A release takes five seconds at most, even if it first tries a hand-over that gets no reply.
func TestAHandOverDoesNotProlongARelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		next := waitFor(t, l, background)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpHandOver: {LoseRequest: true}, memlock.OpRelease: {LoseRequest: true}})
		began := time.Now()
		require.ErrorIs(t, lease.Release(background), rowlock.ErrUnknown)
		assert.LessOrEqual(t, time.Since(began), 5*time.Second)
		synctest.Wait() // waits until the first release in the background is lost, too
		faults(store, nil)
		select {
		case got := <-next:
			require.NoError(t, got.err)
			require.NoError(t, got.lease.Release(background))
		case <-time.After(10 * time.Second): // longer than the time limit of the release
			require.FailNow(t, "the name was not acquired")
		}
	})
}

// secretive is a store that hands a name over, but does not reply. The repeated hand-over fails.
// The store reports the grant only in reply to the waiter's next request, as a grant of an earlier request.
type secretive struct {
	*memlock.Backend

	handed int
	grant  driver.Grant
}

func (s *secretive) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	if s.handed++; s.handed > 1 {
		return driver.Grant{}, errors.New("EOF")
	}
	g, err := s.Backend.HandOver(ctx, from, r)
	if err != nil {
		return g, err
	}
	s.grant = g
	<-ctx.Done()
	return driver.Grant{}, ctx.Err()
}

func (s *secretive) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if s.grant.Nonce == r.Nonce {
		return s.grant, nil
	}
	return s.Backend.Acquire(ctx, r)
}

// Promise 2 of docs/guarantees.md: if a hand-over gets no reply, any of several requests may have led to the grant. The
// trust in the grant counts from before the first of these requests was sent.
func TestTrustInAHandOverOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := &secretive{Backend: store}
		l := locker(t, s)
		lease := acquire(t, l, "a")
		got := make(chan *rowlock.Lease, 1)
		go func() {
			lease, _ := acquireWithin(t, time.Minute, l, "a", rowlock.TTL(3*time.Second))
			got <- lease
		}()
		synctest.Wait()
		require.ErrorIs(t, lease.Release(background), rowlock.ErrUnknown)
		next := <-got
		require.Equal(t, 2, s.handed)
		status, err := store.Inspect(background, driver.Key{Name: "a"})
		require.NoError(t, err)
		require.Equal(t, next.Token(), status.Token)
		assert.LessOrEqual(t, time.Until(next.ExpiresAt()), status.ExpiresIn)
		require.NoError(t, next.Release(background))
	})
}

// Promise 5 of docs/guarantees.md: if the backend panics in a hand-over, the store keeps no lease without a holder,
// even with a TTL of an hour. The release reports an unknown outcome.
func TestAHandOverThatPanicsLeavesNoLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, brittle{store}, rowlock.TTL(time.Hour))
		first := acquire(t, l, "a")
		next := waitFor(t, l, background)
		require.PanicsWithValue(t, "brittle", func() { _ = first.Release(background) })
		require.ErrorIs(t, first.Release(background), rowlock.ErrUnknown)
		got := receive(t, next)
		require.NoError(t, got.err)
		assert.Greater(t, got.lease.Token(), first.Token())
		require.NoError(t, got.lease.Release(background))
	})
}
