package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

type requestID struct{}

// The context that Do passes to its function has the values of the caller's context, and carries the lease.
// It ends when the caller's context or the lease ends.
func TestContextOfDo(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		ctx, cancel := context.WithCancel(context.WithValue(background, requestID{}, 7))
		require.NoError(t, l.Do(ctx, "a", func(ctx context.Context, lease *rowlock.Lease) error {
			found, ok := rowlock.FromContext(ctx)
			assert.True(t, ok)
			assert.Same(t, lease, found)
			assert.Equal(t, 7, ctx.Value(requestID{}))
			found, _ = rowlock.FromContext(lease.Context())
			assert.Same(t, lease, found)
			assert.Equal(t, 7, lease.Context().Value(requestID{}))

			inner := acquire(t, l, "b")
			nested, _ := rowlock.FromContext(context.WithValue(inner.Context(), requestID{}, 8))
			assert.Same(t, inner, nested, "the innermost")

			cancel()
			until(t, ctx.Done())
			require.NoError(t, lease.Err(), "the lease is still held")
			return nil
		}))
		_, ok := rowlock.FromContext(background)
		assert.False(t, ok)

		work := errors.New("work stopped")
		err := l.Do(background, "a", func(ctx context.Context, _ *rowlock.Lease) error {
			store.Lose("a")
			until(t, ctx.Done())
			require.ErrorIs(t, context.Cause(ctx), rowlock.ErrLost)
			return work
		})
		require.ErrorIs(t, err, work)
		require.ErrorIs(t, err, rowlock.ErrLost)
	})
}

// When Do returns, the context that Do passed to its function ends. So goroutines that the function has started stop.
// The caller's context keeps no reference to the ended context.
func TestContextOfDoEndsWithDo(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var scope context.Context
		require.NoError(t, locker(t, store).Do(t.Context(), "a", func(ctx context.Context, _ *rowlock.Lease) error {
			scope = ctx
			return nil
		}))
		assert.Zero(t, until(t, scope.Done()))
	})
}

// If the lock was lost, Do reports the loss even if the work returned no error. If only the outcome of the release is unknown, Do
// returns no error.
func TestResultOfDo(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		_ = acquire(t, l, "taken")
		require.ErrorIs(t, l.Do(background, "taken", func(context.Context, *rowlock.Lease) error {
			t.Error("Do called fn without the lock")
			return nil
		}, rowlock.Wait(time.Second)), rowlock.ErrHeld, "Do did not call fn")
		require.ErrorIs(t, l.TryDo(background, "a", func(context.Context, *rowlock.Lease) error {
			store.Lose("a")
			return nil
		}), rowlock.ErrLost)

		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {LoseRequest: true}})
		require.NoError(t, l.Do(background, "a", func(context.Context, *rowlock.Lease) error { return nil }))
		faults(store, nil)

		acquire(t, l, "b")
		called := false
		require.ErrorIs(t, l.TryDo(background, "b", func(context.Context, *rowlock.Lease) error {
			called = true
			return nil
		}), rowlock.ErrHeld)
		assert.False(t, called)
	})
}

// If the function of Do panics, the lock is released, and the panic continues in the caller.
func TestPanicInDoReleases(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		assert.PanicsWithValue(t, "oh", func() {
			_ = l.Do(background, "a", func(context.Context, *rowlock.Lease) error { panic("oh") })
		})
		acquire(t, l, "a", rowlock.Wait(0))
	})
}

// MinHold keeps the name unavailable after a release, and Release does not block.
func TestMinHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		start := time.Now()
		require.NoError(t, l.Do(background, "a", func(context.Context, *rowlock.Lease) error { return nil }, rowlock.MinHold(time.Minute), rowlock.Holder("me")))
		assert.Zero(t, time.Since(start))
		_, err := l.TryAcquire(background, "a")
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, driver.MinHold, held.Reason)
		assert.Equal(t, time.Minute, held.ExpiresIn)
		_, waited := acquireWithin(t, time.Hour, l, "a")
		assert.InDelta(t, time.Minute, waited, float64(10*time.Millisecond))
	})
}

// HandoverDelay keeps the name unavailable after a loss, but not after a release.
func TestHandoverDelay(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl), rowlock.HandoverDelay(time.Minute))
		require.NoError(t, acquire(t, l, "a").Release(background))
		start := time.Now()
		lease := acquire(t, l, "a")
		assert.Zero(t, time.Since(start))
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		until(t, lease.Context().Done())
		acquireWithin(t, time.Hour, locker(t, store), "a")
		assert.InDelta(t, ttl+time.Minute, time.Since(start), float64(10*time.Millisecond))
	})
}

// The same name in two namespaces means two locks, even if namespace and name, joined by a slash, give the same text
// for both locks.
func TestNamespacesKeepNamesApart(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.Namespace("a"), rowlock.Wait(0))
		lease := acquire(t, l, "b/c")
		assert.Equal(t, "a", lease.Namespace())
		assert.Equal(t, "b/c", lease.Name())
		acquire(t, l, "c", rowlock.Namespace("a/b"))
		acquire(t, l, "a/b/c", rowlock.Namespace(""))
		_, err := l.TryAcquire(background, "b/c")
		require.EqualError(t, err, `"a/b/c" is held by `+lease.Holder()+`, lease ends in 30s unless renewed (token `+lease.Token().String()+`)`)
	})
}

// A lease may be printed during a renewal, without a data race.
func TestALeaseIsPrinted(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.Namespace("jobs"), rowlock.Holder("web-1")), "report")
		want := fmt.Sprintf(`"report" in "jobs" of web-1, token %d`, lease.Token())
		renewed := make(chan error, 1)
		go func() { renewed <- lease.Renew(t.Context()) }()
		assert.Equal(t, want, fmt.Sprint(lease))
		assert.Equal(t, want, fmt.Sprintf("%+v", lease))
		require.NoError(t, <-renewed)
	})
}
