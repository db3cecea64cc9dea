package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 10 of docs/guarantees.md: a call whose ctx carries a shared lease of the name fails at once, as a reader or
// as a writer. A writer would wait for its own share. A reader would wait for a writer that waits for that share. The
// error says so.
func TestACallInsideASharedLeaseFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		start := time.Now()
		for _, inner := range [][]rowlock.Option{nil, {rowlock.Shared()}} {
			require.NoError(t, l.Do(background, "a", func(ctx context.Context, lease *rowlock.Lease) error {
				_, acquired := other.Acquire(ctx, "a", inner...)
				_, tried := l.TryAcquire(lease.Context(), "a", inner...)
				_, all := l.AcquireAll(ctx, []string{"b", "a"}, inner...)
				for _, err := range []error{acquired, tried, all, l.Do(ctx, "a", nothing, inner...)} {
					require.ErrorIs(t, err, rowlock.ErrNested)
					require.ErrorIs(t, err, rowlock.ErrHeld)
					require.ErrorContains(t, err, "carries a shared lease of this name")
					require.ErrorContains(t, err, "release the shared lease first")
				}
				_, err := l.TryAcquire(background, "a", rowlock.Shared())
				require.NoError(t, err, "a ctx without the lease makes another reader")
				return nil
			}, rowlock.Shared()))
		}
		assert.Zero(t, time.Since(start))
	})
}

// With Reenter, a reader inside a reader runs under the outer shared lease, and a reader inside a writer runs under the
// writer's lease. A writer inside a reader never runs under the shared lease: it fails.
func TestReenterOfASharedLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.Reenter())
		ran := 0
		under := func(outer *rowlock.Lease) func(context.Context, *rowlock.Lease) error {
			return func(_ context.Context, inner *rowlock.Lease) error {
				ran++
				assert.Same(t, outer, inner)
				return nil
			}
		}
		require.NoError(t, l.Do(background, "a", func(ctx context.Context, outer *rowlock.Lease) error {
			require.NoError(t, l.Do(ctx, "a", under(outer), rowlock.Shared()))
			require.NoError(t, l.TryDo(ctx, "a", under(outer), rowlock.Shared()))
			for _, do := range []func(context.Context, string, func(context.Context, *rowlock.Lease) error, ...rowlock.Option) error{l.Do, l.TryDo} {
				err := do(ctx, "a", func(context.Context, *rowlock.Lease) error { return errors.New("ran as a writer beside readers") })
				require.ErrorIs(t, err, rowlock.ErrNested)
			}
			return outer.Err()
		}, rowlock.Shared()))
		require.NoError(t, l.Do(background, "a", func(ctx context.Context, outer *rowlock.Lease) error {
			return l.Do(ctx, "a", under(outer), rowlock.Shared())
		}))
		assert.Equal(t, 3, ran)
		assert.Equal(t, 2, store.Calls(memlock.OpAcquire))
	})
}

// plainStore is a store that grants no shares.
type plainStore struct{ *memlock.Backend }

func (s plainStore) Capabilities() driver.Capabilities {
	c := s.Backend.Capabilities()
	c.Shares = false
	return c
}

// Options that cannot be combined with Shared make the call fail before it sends a request. The error names the option.
// If a Locker has such a combination as its default, New fails. If the store grants no shares, the error is an
// errors.ErrUnsupported.
func TestOptionsThatDoNotSuitShared(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, readers := locker(t, store), locker(t, store, rowlock.Shared())
		for want, opt := range map[string]rowlock.Option{
			"MinHold(1s): not possible with a shared lock":       rowlock.MinHold(time.Second),
			"HandoverDelay(1s): not possible with a shared lock": rowlock.HandoverDelay(time.Second),
		} {
			_, err := l.Acquire(background, "a", rowlock.Shared(), opt)
			require.ErrorContains(t, err, want)
			_, err = readers.TryAcquire(background, "a", opt)
			require.ErrorContains(t, err, want)
			_, err = rowlock.New(store, opt, rowlock.Shared())
			require.ErrorContains(t, err, want)
		}
		err := rowlock.Once(background, l, "a", monday, nothing, rowlock.Shared())
		require.ErrorContains(t, err, "Once: not possible with a shared lock")
		_, err = readers.AcquireOnce(background, "a", monday)
		require.ErrorContains(t, err, "Once: not possible with a shared lock")
		err = rowlock.Lead(background, l, "a", nothing, rowlock.Shared())
		require.ErrorContains(t, err, "Lead: not possible with a shared lock")

		_, err = locker(t, plainStore{store}).Acquire(background, "a", rowlock.Shared())
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "Shared: backend memlock grants no shared locks")
		_, err = rowlock.New(plainStore{store}, rowlock.Shared())
		require.ErrorIs(t, err, errors.ErrUnsupported)
		assert.Zero(t, store.Calls(memlock.OpAcquire))

		lease := acquire(t, readers, "a", rowlock.MaxHold(time.Minute), rowlock.Note("reads"))
		assert.Equal(t, time.Minute, until(t, lease.Context().Done()))
		time.Sleep(time.Minute)
		acquire(t, l, "a")
	})
}

// Pause excludes everybody, also with the option Shared. It waits for the readers, and readers wait for its end.
func TestPauseOfReaders(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		readers := locker(t, store, rowlock.Shared())
		lease := acquire(t, readers, "a")
		_, err := readers.Pause(background, "a", "why", rowlock.Wait(time.Second))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		require.NoError(t, lease.Err())
		require.NoError(t, lease.Release(background))
		token, err := readers.Pause(background, "a", "why", rowlock.Shared())
		require.NoError(t, err)
		assert.Equal(t, driver.StatePaused, stateOf(t, store, "a"))
		waits := with(readers, background)
		time.Sleep(time.Hour)
		assert.Empty(t, waits)
		require.NoError(t, readers.Resume(background, "a", token))
		got := receive(t, waits)
		require.NoError(t, got.err)
		assert.True(t, got.lease.Shared())
	})
}

// AcquireAll with Shared holds a share of each name. Two such calls do not exclude each other. Both exclude a writer of
// one of the names, which AcquireAll then waits for.
func TestAllWithShares(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		one, err := l.AcquireAll(background, three, rowlock.Shared())
		require.NoError(t, err)
		two, err := other.AcquireAll(background, []string{"a", "b"}, rowlock.Shared(), rowlock.Wait(0))
		require.NoError(t, err)
		for _, lease := range append(one.All(), two.All()...) {
			assert.True(t, lease.Shared())
			assert.Equal(t, one.Lease(lease.Name()).Token(), lease.Token())
		}
		assert.Equal(t, 2, readersOf(t, store))
		writer := allOf(background, other, three)
		time.Sleep(time.Hour)
		require.NoError(t, one.Err())
		require.NoError(t, two.Err())
		assert.Empty(t, writer)
		require.NoError(t, one.Release(background))
		assert.Equal(t, 1, readersOf(t, store))
		require.NoError(t, two.Release(background))
		wrote := receive(t, writer)
		require.NoError(t, wrote.err)
		reader := allOf(background, l, []string{"b", "c"}, rowlock.Shared())
		time.Sleep(time.Hour)
		assert.Empty(t, reader)
		require.NoError(t, wrote.leases.Release(background))
		require.NoError(t, receive(t, reader).err)
	})
}

// A call of AcquireAll without Shared is served although readers hold each of its names without a gap.
func TestAllIsServedAmongReaders(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		over := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					lease, err := l.Acquire(background, three[i%3], rowlock.Shared())
					if assert.NoError(t, err) {
						time.Sleep(time.Duration(90+i) * time.Millisecond)
						assert.NoError(t, lease.Release(background))
					}
				}
			})
			time.Sleep(20 * time.Millisecond)
		}
		for range 5 {
			began := time.Now()
			leases, err := other.AcquireAll(background, three)
			require.NoError(t, err)
			assert.Less(t, time.Since(began), 30*time.Second, "less than one TTL")
			require.NoError(t, leases.Release(background))
			time.Sleep(time.Second)
		}
		close(over)
		wg.Wait()
	})
}

// AcquireAny with Shared holds a share of one name, also if readers hold each of the names. It waits while writers hold
// all of them.
func TestAnyWithShares(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		names := rowlock.Slots("a", 2)
		var leases []*rowlock.Lease
		for range 6 {
			lease, err := l.AcquireAny(background, names, rowlock.Shared(), rowlock.Wait(0))
			require.NoError(t, err)
			assert.True(t, lease.Shared())
			leases = append(leases, lease)
		}
		for _, lease := range leases {
			require.NoError(t, lease.Release(background))
		}
		one, two := acquire(t, l, names[0]), acquire(t, l, names[1])
		got := anyOf(background, other, names, rowlock.Shared())
		time.Sleep(time.Minute)
		assert.Empty(t, got)
		released := time.Now()
		require.NoError(t, two.Release(background))
		next := receive(t, got)
		require.NoError(t, next.err)
		assert.True(t, next.lease.Shared())
		assert.Equal(t, names[1], next.lease.Name())
		assert.Zero(t, time.Since(released))
		require.NoError(t, one.Err())
	})
}

// A failed or cancelled AcquireAll or AcquireAny of a reader leaves no share behind, whichever reply is lost.
func TestSeveralSharesWithLostReplies(t *testing.T) {
	for lost := range 8 {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprint(lost, all), func(t *testing.T) {
				bubble(t, func(t *testing.T, store *memlock.Backend) {
					l, other := locker(t, store), locker(t, store)
					keeps := acquire(t, l, "a", rowlock.Shared())
					writer := acquire(t, l, "b")
					n := 0
					store.Intercept(func(c memlock.Call) memlock.Fault {
						if c.Op != memlock.OpAcquire {
							return memlock.Fault{}
						}
						n++
						return memlock.Fault{LoseReply: n == lost+1}
					})
					ctx, cancel := context.WithTimeout(background, 10*time.Second)
					defer cancel()
					if all {
						_, err := other.AcquireAll(ctx, []string{"a", "b"}, rowlock.Shared())
						require.ErrorIs(t, err, rowlock.ErrHeld)
					} else {
						lease, err := other.AcquireAny(ctx, []string{"a", "b"}, rowlock.Shared())
						require.NoError(t, err)
						require.NoError(t, lease.Release(background))
					}
					time.Sleep(time.Minute)
					assert.Equal(t, 1, readersOf(t, store))
					require.NoError(t, keeps.Err())
					require.NoError(t, writer.Err())
				})
			})
		}
	}
}

// noting is a guard that records the leases that it seals.
type noting struct{ leases []*rowlock.Lease }

func (s *noting) Seal(_ context.Context, lease *rowlock.Lease, _ ...string) error {
	s.leases = append(s.leases, lease)
	return nil
}

// Fenced seals each shared lease before the call returns it.
func TestFencedReaders(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		guard := new(noting)
		l := locker(t, store, rowlock.Fenced(guard), rowlock.Shared())
		one, two := acquire(t, l, "a"), acquire(t, l, "a")
		assert.Equal(t, []*rowlock.Lease{one, two}, guard.leases)
	})
}
