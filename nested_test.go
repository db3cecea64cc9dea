package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 10 of docs/guarantees.md: an acquire whose ctx carries a lease of the same name fails at once, even inside
// the Do of a second lock, and even with another Locker of the same backend. If such a call waited, it would wait for
// the work under the lease, and that work would wait for the call.
func TestALockInsideItselfFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, other := locker(t, store), locker(t, store)
		start := time.Now()
		refused := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, rowlock.ErrNested)
			require.ErrorIs(t, err, rowlock.ErrHeld)
			require.ErrorContains(t, err, `acquire "a"`)
		}
		require.NoError(t, l.Do(background, "a", func(ctx context.Context, lease *rowlock.Lease) error {
			none := func(context.Context, *rowlock.Lease) error { return errors.New("ran") }
			refused(l.Do(ctx, "a", none))
			refused(l.TryDo(ctx, "a", none))
			refused(other.Do(ctx, "a", none))
			refused(rowlock.Lead(ctx, l, "a", none))
			_, err := l.Acquire(lease.Context(), "a")
			refused(err)
			return l.Do(ctx, "b", func(ctx context.Context, _ *rowlock.Lease) error {
				refused(l.Do(ctx, "a", none))
				return nil
			})
		}))
		assert.Zero(t, time.Since(start))
	})
}

// An acquire succeeds if the lease in its ctx belongs to another lock or has ended.
func TestAnAcquireThatIsNotNestedSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		ctx := lease.Context()
		_, err := l.TryAcquire(ctx, "a", rowlock.Namespace("elsewhere"))
		require.NoError(t, err)
		_, err = locker(t, memlock.New()).TryAcquire(ctx, "a")
		require.NoError(t, err)
		require.NoError(t, lease.Release(background))
		_, err = l.TryAcquire(context.WithoutCancel(ctx), "a")
		require.NoError(t, err, "the outer lease has ended")
	})
}

// Release accepts a nil lease, which a failed Acquire returns.
func TestReleaseOfNoLease(t *testing.T) {
	var lease *rowlock.Lease
	require.ErrorIs(t, lease.Release(background), rowlock.ErrNotHeld)
}

// New and the calls of a Locker reject an option that the store does not support. The error does not say that the store is
// unreachable.
func TestNewRejectsDelaysOnSessionLocks(t *testing.T) {
	for want, opt := range map[string]rowlock.Option{
		"MinHold(1m0s)": rowlock.MinHold(time.Minute), "HandoverDelay(1m0s)": rowlock.HandoverDelay(time.Minute),
	} {
		_, err := rowlock.New(ephemeral{memlock.New()}, opt)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, rowlock.ErrUnavailable)
		_, err = locker(t, ephemeral{memlock.New()}).TryAcquire(background, "a", opt)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, rowlock.ErrUnavailable)
	}
}

type ephemeral struct{ *memlock.Backend }

func (e ephemeral) Capabilities() driver.Capabilities {
	c := e.Backend.Capabilities()
	c.Sessions = true
	return c
}

// The text of an error is one line, whatever the driver reports and however many errors the error joins.
func TestErrorsAreOneLine(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		several := errors.New("failed to connect:\n\t127.0.0.1:1: refused\n\t[::1]:1: refused")
		l := locker(t, store, rowlock.TTL(ttl))
		acquire(t, locker(t, store), "held")
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		_, held := l.Acquire(ctx, "held")
		require.ErrorIs(t, held, rowlock.ErrHeld)
		require.ErrorIs(t, held, context.DeadlineExceeded)

		lost := l.Do(background, "a", func(context.Context, *rowlock.Lease) error {
			store.Lose("a")
			return errEnd
		})
		require.ErrorIs(t, lost, rowlock.ErrLost)
		require.ErrorIs(t, lost, errEnd)

		expired := acquire(t, l, "b")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Fail: several}, memlock.OpAcquire: {Fail: several}, memlock.OpRelease: {Fail: several}})
		ctx, cancel = context.WithTimeout(background, 10*time.Millisecond)
		defer cancel()
		_, away := l.Acquire(ctx, "c")
		require.ErrorIs(t, away, several)
		require.ErrorContains(t, away, "failed to connect: 127.0.0.1:1: refused; [::1]:1: refused")
		until(t, expired.Context().Done())
		closed := locker(t, store)
		faults(store, nil)
		acquire(t, closed, "d")
		acquire(t, closed, "e")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {Fail: several}})
		for _, err := range []error{held, lost, away, expired.Err(), closed.Close()} {
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "\n")
		}
	})
}

// With the option Reenter, a Do inside the Do of the same name runs under the outer lease and does not release that lease. In all
// other cases Reenter changes nothing.
func TestReenter(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.Reenter())
		ran := 0
		require.NoError(t, l.Do(background, "a", func(ctx context.Context, outer *rowlock.Lease) error {
			for _, do := range []func(context.Context, string, func(context.Context, *rowlock.Lease) error, ...rowlock.Option) error{l.Do, l.TryDo} {
				require.NoError(t, do(ctx, "a", func(ctx context.Context, inner *rowlock.Lease) error {
					assert.Same(t, outer, inner)
					carried, ok := rowlock.FromContext(ctx)
					assert.True(t, ok && carried == outer)
					ran++
					return ctx.Err()
				}))
				require.NoError(t, outer.Err(), "the outer Do goes on")
			}
			_, err := l.Acquire(ctx, "a")
			require.ErrorIs(t, err, rowlock.ErrNested)
			require.NoError(t, l.Do(ctx, "b", func(ctx context.Context, b *rowlock.Lease) error {
				assert.NotSame(t, outer, b)
				return l.Do(ctx, "a", func(_ context.Context, a *rowlock.Lease) error { assert.Same(t, outer, a); return nil })
			}))
			boom := errors.New("boom")
			require.Equal(t, boom, l.Do(ctx, "a", func(context.Context, *rowlock.Lease) error { return boom }))
			return nil
		}))
		assert.Equal(t, 2, ran)
		assert.Equal(t, 2, store.Calls(memlock.OpAcquire), "a and b")

		lost := acquire(t, l, "a")
		err := l.Do(lost.Context(), "a", func(ctx context.Context, _ *rowlock.Lease) error {
			store.Lose("a")
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, rowlock.ErrLost)
		err = l.Do(lost.Context(), "a", func(context.Context, *rowlock.Lease) error { return errors.New("ran") })
		require.ErrorContains(t, err, "context canceled", "a lease that has ended is not entered")

		held := acquire(t, l, "c")
		require.NoError(t, l.Close())
		err = l.Do(held.Context(), "c", func(context.Context, *rowlock.Lease) error { return errors.New("ran") })
		require.ErrorIs(t, err, rowlock.ErrClosed)
	})
}
