package rowlock_test

import (
	"context"
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

// The function with starts an Acquire of "a" with opts in the background, and returns when that Acquire waits or has
// ended.
func with(l *rowlock.Locker, ctx context.Context, opts ...rowlock.Option) chan outcome {
	got := make(chan outcome, 1)
	go func() {
		lease, err := l.Acquire(ctx, "a", opts...)
		got <- outcome{lease, err}
	}()
	synctest.Wait()
	return got
}

// readersOf returns the number of live shares of the name "a".
func readersOf(t *testing.T, store *memlock.Backend) int {
	t.Helper()
	status, err := store.Inspect(background, driver.Key{Name: "a"})
	require.NoError(t, err)
	return status.Readers
}

// Readers of one or several processes hold a name at the same time and have one token. A writer is refused until the
// last of them has released the name. Tokens rise from readers to writer to readers.
func TestReadersHoldTogether(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		one := acquire(t, l, "a", rowlock.Shared(), rowlock.Holder("one"))
		two := acquire(t, l, "a", rowlock.Shared(), rowlock.Holder("two"))
		three := acquire(t, other, "a", rowlock.Shared(), rowlock.Holder("three"))
		time.Sleep(time.Hour)
		for _, lease := range []*rowlock.Lease{one, two, three} {
			assert.True(t, lease.Shared())
			require.NoError(t, lease.Err(), "the Locker renews the share")
			assert.Equal(t, one.Token(), lease.Token())
		}
		assert.NotEqual(t, one.Nonce(), two.Nonce())
		for left, lease := range []*rowlock.Lease{three, two, one} {
			_, err := other.TryAcquire(background, "a")
			var held *rowlock.HeldError
			require.ErrorAs(t, err, &held)
			assert.Equal(t, 3-left, held.Readers)
			assert.Equal(t, "three", held.Holder, "the reader that was granted last")
			if left == 0 {
				require.ErrorContains(t, err, "by 3 readers, one of them three")
			}
			require.NoError(t, lease.Release(background))
		}
		writer := acquire(t, other, "a")
		assert.False(t, writer.Shared())
		assert.Greater(t, writer.Token(), one.Token())
		_, err := l.TryAcquire(background, "a", rowlock.Shared())
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Zero(t, held.Readers)
		require.NoError(t, writer.Release(background))
		assert.Greater(t, acquire(t, l, "a", rowlock.Shared()).Token(), writer.Token())
	})
}

// traffic counts the callers that hold the name, and notes if a reader and a writer hold it at the same time.
type traffic struct {
	reading, writing, read, wrote atomic.Int32
}

func (c *traffic) hold(t *testing.T, l *rowlock.Locker, d time.Duration, opts ...rowlock.Option) {
	lease, err := l.Acquire(background, "a", opts...)
	if !assert.NoError(t, err) {
		return
	}
	mine, done := &c.writing, &c.wrote
	if lease.Shared() {
		mine, done = &c.reading, &c.read
	}
	mine.Add(1)
	check := func() {
		readers, writers := c.reading.Load(), c.writing.Load()
		assert.True(t, writers == 0 || writers == 1 && readers == 0, "%d readers beside %d writers", readers, writers)
	}
	check()
	time.Sleep(d)
	check()
	assert.NoError(t, lease.Err())
	mine.Add(-1)
	done.Add(1)
	assert.NoError(t, lease.Release(background))
}

// A writer acquires a name that readers of several processes hold without a gap. It waits only for the readers that
// hold the name already. If the store sends no notifications, it also waits for its next poll.
func TestAWriterIsNotOvertakenByReaders(t *testing.T) {
	const hold = 400 * time.Millisecond
	for name, test := range map[string]struct {
		wrap  func(*memlock.Backend) driver.Backend
		local bool // true if the writer is a caller of a Locker that also has readers
		limit time.Duration
	}{
		"notified":                       {func(b *memlock.Backend) driver.Backend { return b }, false, hold},
		"notified, beside its readers":   {func(b *memlock.Backend) driver.Backend { return b }, true, 2 * hold}, // a reader of its own process may come first
		"polling":                        {func(b *memlock.Backend) driver.Backend { return deaf{b} }, false, hold + 1500*time.Millisecond},
		"no subscription, beside others": {func(b *memlock.Backend) driver.Backend { return mute{b} }, true, 2*hold + 2*1500*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				a, b, c := locker(t, test.wrap(store)), locker(t, test.wrap(store)), locker(t, test.wrap(store))
				var all traffic
				var over atomic.Bool
				var wg sync.WaitGroup
				for i := range 8 {
					l := []*rowlock.Locker{a, b}[i%2]
					time.Sleep(hold / 10)
					wg.Go(func() {
						for !over.Load() {
							all.hold(t, l, hold, rowlock.Shared())
						}
					})
				}
				writer := c
				if test.local {
					writer = a
				}
				for range 20 {
					time.Sleep(5 * time.Second)
					before := all.read.Load()
					began := time.Now()
					lease, err := writer.Acquire(background, "a")
					require.NoError(t, err)
					assert.LessOrEqual(t, time.Since(began), test.limit)
					assert.Zero(t, all.reading.Load())
					assert.LessOrEqual(t, all.read.Load()-before, int32(16), "each reader held the name once, or once more")
					time.Sleep(time.Second)
					assert.Zero(t, all.reading.Load())
					require.NoError(t, lease.Release(background))
				}
				before := all.read.Load()
				time.Sleep(10 * time.Second)
				assert.Greater(t, all.read.Load()-before, int32(50), "the readers continue after the last writer")
				over.Store(true)
				wg.Wait()
			})
		})
	}
}

// Readers and writers of several processes all progress, and no reader ever holds the name beside a writer.
func TestReadersAndWritersAllProgress(t *testing.T) {
	for _, opts := range [][]rowlock.Option{nil, {rowlock.Wait(time.Minute)}} {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			var all traffic
			var wg sync.WaitGroup
			for p := range 3 {
				l := locker(t, store)
				for i := range 5 {
					wg.Go(func() {
						for round := range 40 {
							time.Sleep(time.Duration(1+(p*7+i*3+round)%5) * time.Millisecond)
							if i < 2 {
								all.hold(t, l, time.Millisecond, opts...)
							} else {
								all.hold(t, l, 3*time.Millisecond, append(opts, rowlock.Shared())...)
							}
						}
					})
				}
			}
			began := time.Now()
			wg.Wait()
			assert.EqualValues(t, 3*2*40, all.wrote.Load())
			assert.EqualValues(t, 3*3*40, all.read.Load())
			assert.Less(t, time.Since(began), 10*time.Second, "nobody waits for a TTL or a reservation")
		})
	}
}

// Readers that wait behind a writer of their own process, or of another process, all hold the name as soon as the
// writer has released it.
func TestWaitingReadersAreAllWoken(t *testing.T) {
	for name, test := range map[string]struct {
		wrap  func(*memlock.Backend) driver.Backend
		limit time.Duration
	}{
		"notified": {func(b *memlock.Backend) driver.Backend { return b }, 0},
		"polling":  {func(b *memlock.Backend) driver.Backend { return deaf{b} }, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				var lockers []*rowlock.Locker
				for range 3 {
					lockers = append(lockers, locker(t, test.wrap(store)))
				}
				before := acquire(t, lockers[0], "a", rowlock.Shared())
				writer := with(lockers[0], background) // the readers of the same process wait behind the writer
				var readers []chan outcome
				for _, l := range lockers {
					for range 4 {
						readers = append(readers, with(l, background, rowlock.Shared()))
					}
				}
				require.NoError(t, before.Release(background))
				wrote := receive(t, writer)
				require.NoError(t, wrote.err)
				time.Sleep(time.Minute)
				assert.Zero(t, readersOf(t, store))
				released := time.Now()
				require.NoError(t, wrote.lease.Release(background))
				var tokens []rowlock.Token
				for _, r := range readers {
					got := receive(t, r)
					require.NoError(t, got.err)
					tokens = append(tokens, got.lease.Token())
				}
				assert.LessOrEqual(t, time.Since(released), test.limit)
				assert.Equal(t, 12, readersOf(t, store))
				for _, token := range tokens {
					assert.Equal(t, tokens[0], token)
				}
				assert.Greater(t, tokens[0], wrote.lease.Token())
			})
		})
	}
}

// If a waiting writer gives up, the readers behind it join the reader that holds the name at once. Between the writer
// and the readers waits a second writer, which also gives up.
func TestReadersPassAWriterThatGivesUp(t *testing.T) {
	for name, test := range map[string]struct {
		opts   []rowlock.Option
		giveUp func(cancel func(), l *rowlock.Locker)
		kind   error
		local  bool
	}{
		"cancelled":              {nil, func(cancel func(), _ *rowlock.Locker) { cancel() }, context.Canceled, false},
		"cancelled, in front":    {nil, func(cancel func(), _ *rowlock.Locker) { cancel() }, context.Canceled, true},
		"wait is over":           {[]rowlock.Option{rowlock.Wait(time.Minute)}, func(func(), *rowlock.Locker) {}, rowlock.ErrHeld, false},
		"wait is over, in front": {[]rowlock.Option{rowlock.Wait(time.Minute)}, func(func(), *rowlock.Locker) {}, rowlock.ErrHeld, true},
		"closed":                 {nil, func(_ func(), l *rowlock.Locker) { _ = l.Close() }, rowlock.ErrClosed, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, other := locker(t, store), locker(t, store)
				holder := acquire(t, locker(t, store), "a", rowlock.Shared())
				of := other
				if test.local {
					of = l
				}
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				writer := with(of, ctx, test.opts...)
				short := with(l, background, rowlock.Shared(), rowlock.Wait(time.Second))
				second := with(l, ctx) // a second writer, which gives up without having been the first
				readers := []chan outcome{with(l, background, rowlock.Shared()), with(l, background, rowlock.Shared())}
				require.ErrorIs(t, receive(t, short).err, rowlock.ErrHeld)
				time.Sleep(time.Minute - time.Second)
				test.giveUp(cancel, of)
				require.ErrorIs(t, receive(t, writer).err, test.kind)
				cancel()
				require.ErrorIs(t, receive(t, second).err, context.Canceled)
				began := time.Now()
				for _, r := range readers {
					select {
					case got := <-r:
						require.NoError(t, got.err)
						assert.Equal(t, holder.Token(), got.lease.Token())
					case <-time.After(time.Minute):
						require.FailNow(t, "a reader still waits")
					}
				}
				assert.Zero(t, time.Since(began))
				require.NoError(t, holder.Err())
			})
		})
	}
}

// The end of a reader's lease without a release also lets a writer in: the writer's request arrives when the last share
// expires.
func TestAWriterFollowsADeadReader(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		for _, ttl := range []time.Duration{4 * time.Second, 10 * time.Second} {
			_, err := store.Acquire(t.Context(), driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: ttl, Shared: true})
			require.NoError(t, err)
		}
		_, waited := acquireWithin(t, time.Hour, locker(t, store), "a")
		assert.InDelta(t, 10*time.Second, waited, float64(10*time.Millisecond))
	})
}

// Nothing is handed over from a reader or to a reader, because a hand-over makes a new token. Between two writers of
// the same process the name is still handed over.
func TestSharesAreNotHandedOver(t *testing.T) {
	reader := []rowlock.Option{rowlock.Shared()}
	for name, test := range map[string]struct {
		from, to []rowlock.Option
		handed   int
	}{
		"writer to writer": {nil, nil, 1},
		"reader to writer": {reader, nil, 0},
		"writer to reader": {nil, reader, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l := locker(t, store)
				first := acquire(t, l, "a", test.from...)
				next := with(l, background, test.to...)
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				released := time.Now()
				require.NoError(t, first.Release(background))
				got := receive(t, next)
				require.NoError(t, got.err)
				assert.Zero(t, time.Since(released))
				assert.Equal(t, test.handed, store.Calls(memlock.OpHandOver))
				assert.Greater(t, got.lease.Token(), first.Token())
			})
		})
	}
}

// If replies are lost, no share is left behind, and no share of another reader ends.
func TestLostRepliesOfAReader(t *testing.T) {
	for _, op := range []memlock.Op{memlock.OpAcquire, memlock.OpRenew, memlock.OpRelease} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				other := acquire(t, locker(t, store), "a", rowlock.Shared())
				time.Sleep(time.Second) // the two Lockers renew at different times
				l := locker(t, store)
				lost := 0
				store.Intercept(func(c memlock.Call) memlock.Fault {
					if c.Op != op || lost == 1 {
						return memlock.Fault{}
					}
					lost++
					return memlock.Fault{LoseReply: true}
				})
				lease, _ := acquireWithin(t, 10*time.Second, l, "a", rowlock.Shared())
				assert.Equal(t, 2, readersOf(t, store))
				time.Sleep(time.Minute)
				require.NoError(t, lease.Err())
				require.NoError(t, lease.Release(background))
				time.Sleep(10 * time.Second)
				assert.Equal(t, 1, lost)
				assert.Equal(t, 1, readersOf(t, store))
				require.NoError(t, other.Err())
				require.NoError(t, other.Release(background))
				assert.False(t, acquire(t, l, "a").Shared())
			})
		})
	}
}

// If a reader gives up and every reply to its requests is lost, its share is released in the background. The share of
// another reader stays.
func TestAShareWhoseReplyIsLostIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		other := acquire(t, l, "a", rowlock.Shared())
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseReply: true}})
		_, err := l.TryAcquire(background, "a", rowlock.Shared())
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		time.Sleep(soon)
		assert.Equal(t, 1, readersOf(t, store), "long before the TTL")
		faults(store, nil)
		time.Sleep(time.Minute)
		require.NoError(t, other.Err())
		require.NoError(t, other.Release(background))
		acquire(t, l, "a")
	})
}

// A Locker renews the shares of one name and its other leases in common requests. A share that is released leaves the
// others alone, and a forced release ends all of them.
func TestRenewalsOfManyShares(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		const shares = 300
		var leases []*rowlock.Lease
		for i := range shares {
			leases = append(leases, acquire(t, l, "a", rowlock.Shared()))
			if i%100 == 0 {
				acquire(t, l, fmt.Sprint(i))
			}
		}
		time.Sleep(time.Minute)
		before := store.Calls(memlock.OpRenew)
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, store.Calls(memlock.OpRenew)-before, 3*370, "a few requests for all leases, every ten seconds")
		assert.Equal(t, shares, readersOf(t, store))
		for _, lease := range leases[:100] {
			require.NoError(t, lease.Release(background))
		}
		time.Sleep(time.Minute)
		assert.Equal(t, shares-100, readersOf(t, store))
		store.Lose("a")
		time.Sleep(time.Minute)
		for i, lease := range leases {
			if i < 100 {
				require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
				continue
			}
			var lost *rowlock.LostError
			require.ErrorAs(t, lease.Err(), &lost)
			assert.Equal(t, rowlock.LostTaken, lost.Reason)
		}
		assert.Equal(t, 3, held(t, store), "the other names are held")
	})
}

// Close releases every share of its Locker at once, and wakes a writer. Shares of other Lockers stay.
func TestCloseReleasesShares(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		for range 50 {
			acquire(t, l, "a", rowlock.Shared())
		}
		stays := acquire(t, other, "a", rowlock.Shared())
		writer := with(other, background)
		start := time.Now()
		require.NoError(t, l.Close())
		assert.Zero(t, time.Since(start))
		assert.Equal(t, 1, readersOf(t, store))
		require.NoError(t, stays.Err())
		assert.Empty(t, writer)
		require.NoError(t, stays.Release(background))
		require.NoError(t, receive(t, writer).err)
		assert.Zero(t, time.Since(start))
	})
}
