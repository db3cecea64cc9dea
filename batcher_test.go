package rowlock_test

import (
	"context"
	"errors"
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

// batching is a store with batches. It counts the requests. The functions may change the outcomes of a batch.
type batching struct {
	*memlock.Backend

	mu       sync.Mutex
	requests map[string]int
	names    []string // of the last batch
	acquired func(grants []driver.Grant, errs []error) ([]driver.Grant, []error)
	released func(errs []error) []error
	lost     error // if it is set, the store ignores a batch of releases, and this is each outcome
}

func newBatching(store *memlock.Backend) *batching {
	return &batching{
		Backend: store, requests: map[string]int{},
		acquired: func(grants []driver.Grant, errs []error) ([]driver.Grant, []error) { return grants, errs },
		released: func(errs []error) []error { return errs },
	}
}

func (b *batching) count(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests[what]++
}

// sent returns how many of these requests the store has received.
func (b *batching) sent(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[what]
}

func (b *batching) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	b.count("acquire")
	return b.Backend.Acquire(ctx, r)
}

func (b *batching) Release(ctx context.Context, g driver.Grant) error {
	b.count("release")
	return b.Backend.Release(ctx, g)
}

func (b *batching) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	b.count("acquire each")
	grants, errs := make([]driver.Grant, len(requests)), make([]error, len(requests))
	b.names = nil
	for i, r := range requests {
		b.names = append(b.names, r.Key.Name)
		grants[i], errs[i] = b.Backend.Acquire(ctx, r)
	}
	return b.acquired(grants, errs)
}

func (b *batching) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	b.count("release each")
	errs := make([]error, len(grants))
	if b.lost != nil {
		return all(len(grants), b.lost)
	}
	b.names = nil
	for i, g := range grants {
		b.names = append(b.names, g.Key.Name)
		errs[i] = b.Backend.Release(ctx, g)
	}
	return b.released(errs)
}

var errNoReply = errors.New("no reply")

// all returns a list of n equal errors.
func all(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// AcquireAll and the release of its leases take one request each, in the order of the names.
func TestAllTakesOneBatch(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := newBatching(store)
		leases, err := locker(t, b).AcquireAll(background, three)
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b", "c"}, b.names)
		assert.Equal(t, "c", leases.All()[0].Name())
		require.NoError(t, leases.Release(background))
		assert.Equal(t, []string{"a", "b", "c"}, b.names)
		assert.Equal(t, map[string]int{"acquire each": 1, "release each": 1}, b.requests)
		assert.Zero(t, held(t, store))
	})
}

// Promise 5 of docs/guarantees.md: after a batch without a reply, each request is sent again with its nonce. So the call
// ends with the grants of the batch, and with no others.
func TestAllRepeatsABatchWithoutReply(t *testing.T) {
	for name, failure := range map[string]error{"unknown": errNoReply, "not applied": driver.NotApplied(errNoReply)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				b := newBatching(store)
				var granted []driver.Grant
				b.acquired = func(grants []driver.Grant, _ []error) ([]driver.Grant, []error) {
					granted = grants
					return make([]driver.Grant, 3), all(3, failure)
				}
				b.lost = failure
				leases, err := locker(t, b).AcquireAll(background, three)
				require.NoError(t, err)
				for _, g := range granted {
					lease := leases.Lease(g.Key.Name)
					require.NotNil(t, lease)
					assert.Equal(t, g.Token, lease.Token())
				}
				require.NoError(t, leases.Release(background))
				assert.Zero(t, held(t, store))
				assert.Equal(t, 3, b.sent("acquire"))
			})
		})
	}
}

// Promise 5 of docs/guarantees.md: if a name is refused, the grants of the other names are released, even if the batch
// reported no outcome for them.
func TestARefusedBatchLeavesNoGrant(t *testing.T) {
	for name, failure := range map[string]error{"granted": nil, "unknown": errNoReply} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				holder := acquire(t, locker(t, store), "b")
				b := newBatching(store)
				b.acquired = func(grants []driver.Grant, errs []error) ([]driver.Grant, []error) {
					if failure != nil {
						grants[0], errs[0] = driver.Grant{}, failure
					}
					return grants, errs
				}
				_, err := locker(t, b).AcquireAll(background, three, rowlock.Wait(0))
				var refused *rowlock.HeldError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, "b", refused.Name)
				time.Sleep(time.Second)
				assert.Equal(t, 1, held(t, store), "only the holder's lease remains")
				assert.Zero(t, b.sent("acquire"), "no further request is necessary")
				require.NoError(t, holder.Release(background))
			})
		})
	}
}

// A backend that returns a wrong number of outcomes does no harm.
func TestABatchOfWrongSizeIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := newBatching(store)
		b.acquired = func([]driver.Grant, []error) ([]driver.Grant, []error) { return nil, nil }
		b.released = func([]error) []error { return nil }
		leases, err := locker(t, b).AcquireAll(background, three)
		require.NoError(t, err)
		require.NoError(t, leases.Release(background))
		assert.Zero(t, held(t, store))
	})
}

// A name for which a caller of this process waits is handed over, and the other names are released in one batch.
func TestABatchOfReleasesHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := newBatching(store)
		l := locker(t, b)
		leases, err := l.AcquireAll(background, three)
		require.NoError(t, err)
		got := make(chan *rowlock.Lease, 1)
		go func() {
			le, _ := l.Acquire(background, "b")
			got <- le
		}()
		synctest.Wait()
		require.NoError(t, leases.Release(background))
		assert.Equal(t, []string{"a", "c"}, b.names)
		next := <-got
		assert.Equal(t, "b", next.Name())
		assert.Equal(t, 1, held(t, store))
		require.NoError(t, next.Release(background))
	})
}

// A lease may be released on its own, before and during the release of all.
func TestReleasesOfOneAndOfAllAgree(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := newBatching(store)
		l := locker(t, b)
		for range 20 {
			leases, err := l.AcquireAll(background, three)
			require.NoError(t, err)
			var group sync.WaitGroup
			for _, le := range leases.All() {
				group.Go(func() { assert.NoError(t, le.Release(background)) })
			}
			for range 2 {
				group.Go(func() { assert.NoError(t, leases.Release(background)) })
			}
			group.Wait()
			assert.Zero(t, held(t, store))
		}
	})
}

// If the backend panics in a batch, each lease is released on its own, and no later call of Release hangs.
func TestAPanicInABatchEndsEveryRelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := newBatching(store)
		b.released = func([]error) []error { panic("backend") }
		leases, err := locker(t, b).AcquireAll(background, three)
		require.NoError(t, err)
		require.PanicsWithValue(t, "backend", func() { _ = leases.Release(background) })
		for _, le := range leases.All() {
			require.NoError(t, le.Release(background))
		}
		assert.Equal(t, 3, b.sent("release"))
	})
}

// If a function of a Trace panics after a batch, the other leases of the batch are released nevertheless: those of the
// acquires, and those of the releases, also if the store reported no outcome for some of them.
func TestAPanicOfATraceAfterABatchLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := newBatching(store)
		panics := &rowlock.Trace{
			Acquired: func(rowlock.AcquiredEvent) { panic("acquired") },
			Released: func(rowlock.ReleasedEvent) { panic("released") },
		}
		unsure := func(errs []error) []error { return []error{nil, errNoReply, errs[2]} }
		b.acquired = func(grants []driver.Grant, errs []error) ([]driver.Grant, []error) { return grants, unsure(errs) }
		l := locker(t, b)
		assert.Panics(t, func() { _, _ = l.AcquireAll(background, three, rowlock.Tracing(panics)) })
		synctest.Wait()
		require.Zero(t, held(t, store))

		b.released = unsure
		leases, err := l.AcquireAll(background, three)
		require.NoError(t, err)
		panics.Acquired = nil
		again, err := l.AcquireAll(background, []string{"d", "e", "f"}, rowlock.Tracing(panics))
		require.NoError(t, err)
		assert.PanicsWithValue(t, "released", func() { _ = again.Release(background) })
		for _, le := range again.All() {
			require.NoError(t, le.Release(background))
		}
		require.NoError(t, leases.Release(background))
		assert.Zero(t, held(t, store))
	})
}
