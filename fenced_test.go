package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// seal is a guard that calls a function of the test.
type seal func(ctx context.Context, lease *rowlock.Lease) error

func (s seal) Seal(ctx context.Context, lease *rowlock.Lease, _ ...string) error {
	return s(ctx, lease)
}

// The option Fenced seals before Acquire returns, and before Do calls its function.
func TestFencedSealsBeforeTheWork(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var sealed []rowlock.Token
		guard := seal(func(_ context.Context, lease *rowlock.Lease) error {
			require.NoError(t, lease.Err())
			sealed = append(sealed, lease.Token())
			return nil
		})
		l := locker(t, store, rowlock.Fenced(guard))
		lease := acquire(t, l, "a")
		assert.Equal(t, []rowlock.Token{lease.Token()}, sealed)
		require.NoError(t, l.TryDo(background, "b", func(_ context.Context, lease *rowlock.Lease) error {
			require.Len(t, sealed, 2)
			assert.Equal(t, lease.Token(), sealed[1])
			return nil
		}))
	})
}

// Sealing may fail, or may last until the lease or the caller's ctx ends. In both cases the name does not stay held.
func TestFailedSealReleases(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		no := errors.New("no")
		l := locker(t, store, rowlock.TTL(ttl), rowlock.Wait(0))
		_, err := l.Acquire(background, "a", rowlock.Fenced(seal(func(context.Context, *rowlock.Lease) error { return no })))
		require.ErrorIs(t, err, no)
		require.NoError(t, acquire(t, l, "a").Release(background), "the name is free")

		hang := seal(func(ctx context.Context, _ *rowlock.Lease) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, "a", rowlock.Fenced(hang))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, acquire(t, l, "a").Release(background))

		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		start := time.Now()
		_, err = l.Acquire(background, "a", rowlock.Fenced(hang))
		require.ErrorIs(t, err, rowlock.ErrLost)
		assert.Equal(t, trust, time.Since(start))
	})
}

// If the guard is nil, the call reports an error and acquires nothing.
func TestFencedWantsAGuard(t *testing.T) {
	store := memlock.New()
	_, err := locker(t, store).Acquire(background, "a", rowlock.Fenced(nil))
	require.ErrorContains(t, err, "Fenced(nil)")
	assert.Zero(t, store.Calls(memlock.OpAcquire))
}

// Close ends the wait for a guard, and the waiting call returns ErrClosed, as it does while it waits for the name.
func TestCloseEndsASeal(t *testing.T) {
	for _, guard := range []seal{
		func(ctx context.Context, _ *rowlock.Lease) error { <-ctx.Done(); return ctx.Err() },
		func(ctx context.Context, _ *rowlock.Lease) error { <-ctx.Done(); return context.Cause(ctx) },
	} {
		for what, begin := range map[string]func(l *rowlock.Locker) error{
			"Acquire": func(l *rowlock.Locker) error { _, err := l.Acquire(background, "a"); return err },
			"Lead": func(l *rowlock.Locker) error {
				return rowlock.Lead(background, l, "a", func(context.Context, *rowlock.Lease) error { return nil })
			},
		} {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				l, err := rowlock.New(store, rowlock.Fenced(guard))
				require.NoError(t, err)
				done := make(chan error, 1)
				go func() { done <- begin(l) }()
				synctest.Wait()
				require.NoError(t, l.Close())
				require.ErrorIs(t, <-done, rowlock.ErrClosed, what)
			})
		}
	}
}

// If a lease could not be sealed, its minimum hold does not apply. The name is free as soon as the store has released
// it, even if the first request to release is lost.
func TestAFailedSealKeepsNoMinimumHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		no := errors.New("no")
		guard := seal(func(context.Context, *rowlock.Lease) error { return no })
		l := locker(t, store, rowlock.TTL(time.Hour), rowlock.MinHold(2*time.Hour))
		_, err := l.Acquire(background, "a", rowlock.Fenced(guard))
		require.ErrorIs(t, err, no)
		assert.Equal(t, driver.StateFree, list(t, store)[0].State)

		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {LoseRequest: true}})
		_, err = l.Acquire(background, "a", rowlock.Fenced(guard))
		require.ErrorIs(t, err, no)
		store.Intercept(nil)
		time.Sleep(time.Minute)
		assert.Equal(t, driver.StateFree, list(t, store)[0].State, "released in the background, before the lease would have ended")

		require.NoError(t, acquire(t, l, "a").Release(background))
		assert.Equal(t, driver.StateClosed, list(t, store)[0].State, "after a hold")
	})
}
