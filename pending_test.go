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

// granting is a store that records a request that it refuses. When the holder releases the name, the store grants the recorded
// request.
type granting struct {
	*memlock.Backend

	mu     sync.Mutex
	left   *driver.Request
	given  *driver.Grant // a grant that the store has not reported yet
	wake   func()
	asked  int
	proven int
	taken  []driver.Grant // grants that were released with a zero token
}

func (b *granting) Notify(_ context.Context, _ driver.Key, wake func()) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = wake
	return func() {}, nil
}

func (b *granting) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.given != nil && b.given.Nonce == r.Nonce {
		g := *b.given
		b.given = nil
		return g, nil
	}
	g, err := b.Backend.Acquire(ctx, r)
	if held, refused := err.(*driver.Held); refused && r.Waits { //nolint:errorlint // memlock returns this error unwrapped
		held.Pending = true
		b.left = &r
	}
	return g, err
}

func (b *granting) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	b.mu.Lock()
	b.proven++
	b.mu.Unlock()
	return b.Backend.Renew(ctx, grants)
}

func (b *granting) Release(ctx context.Context, g driver.Grant) error {
	err := b.Backend.Release(ctx, g)
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.Token == 0 {
		b.taken = append(b.taken, g)
		if b.left != nil && b.left.Nonce == g.Nonce {
			b.left = nil
		}
		return err
	}
	if b.left != nil && err == nil {
		given, err := b.Backend.Acquire(ctx, *b.left)
		if err != nil {
			return err
		}
		b.given, b.left = &given, nil
		b.wake()
	}
	return err
}

// HandOver fails, as if the holder were another process.
func (b *granting) HandOver(context.Context, driver.Grant, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, driver.Permanent(driver.ErrNotHeld)
}

// Promise 2 of docs/guarantees.md: if the store grants a recorded request by itself, the waiter does not know when. So
// the trust counts from before the recorded request was sent. After a long wait the waiter renews the grant, and the
// trust counts from the renewal.
func TestTrustInAGrantThatTheStoreMadeAlone(t *testing.T) {
	for name, wait := range map[string]time.Duration{"soon": ttl / 4, "after a long wait": 2 * ttl} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				b := &granting{Backend: store}
				holder, waiter := locker(t, b, rowlock.TTL(ttl)), locker(t, b, rowlock.TTL(ttl))
				lease := acquire(t, holder, "a")
				asked := time.Now()
				got := waitFor(t, waiter, background)
				time.Sleep(wait)
				synctest.Wait()
				b.mu.Lock()
				before, proven := b.asked, b.proven
				b.mu.Unlock()
				require.NoError(t, lease.Release(background))
				answer := receive(t, got)
				require.NoError(t, answer.err)
				next := answer.lease
				b.mu.Lock()
				assert.Equal(t, before+1, b.asked, "by the first request after it was woken")
				if wait > ttl {
					assert.Greater(t, b.proven, proven, "the grant was confirmed")
				} else {
					assert.Equal(t, proven, b.proven)
				}
				b.mu.Unlock()
				status, err := store.Inspect(t.Context(), driver.Key{Name: "a"})
				require.NoError(t, err)
				assert.Equal(t, next.Token(), status.Token)
				require.NoError(t, next.Err())
				assert.LessOrEqual(t, time.Until(next.ExpiresAt()), status.ExpiresIn)
				if wait < ttl {
					assert.False(t, next.ExpiresAt().After(asked.Add(ttl)), "from before its first request")
				}
				require.NoError(t, next.Release(background))
			})
		})
	}
}

// overdue is a store that grants recorded requests by itself. It reports such a grant so late that most of the
// request's time limit is over.
type overdue struct{ *granting }

func (b overdue) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	b.mu.Lock()
	late := b.given != nil && b.given.Nonce == r.Nonce
	b.mu.Unlock()
	g, err := b.granting.Acquire(ctx, r)
	if late {
		time.Sleep(900 * time.Millisecond)
	}
	return g, err
}

// Promise 2 of docs/guarantees.md: if the store has granted a recorded request, and the confirmation fails, the grant
// is not trusted. The waiter then repeats its request, and the lease that it gets is trusted for no longer than the
// store keeps the grant.
func TestAGrantWhoseConfirmationFailsIsNotTrusted(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := overdue{&granting{Backend: store}}
		lease := acquire(t, locker(t, b, rowlock.TTL(ttl)), "a")
		next := waitFor(t, locker(t, b, rowlock.TTL(ttl)), background)
		time.Sleep(2*ttl + ttl/12) // this instant is between two renewals by the holder
		synctest.Wait()
		released, failed := false, 0
		store.Intercept(func(c memlock.Call) memlock.Fault {
			released = released || c.Op == memlock.OpRelease
			if !released || c.Op != memlock.OpRenew || failed > 0 {
				return memlock.Fault{}
			}
			failed++
			return memlock.Fault{Fail: driver.NotApplied(errors.New("no connection"))}
		})
		require.NoError(t, lease.Release(background))
		began := time.Now()
		got := <-next
		assert.Less(t, time.Since(began), ttl, "by a repeated request, not after the end of the first grant")
		require.NoError(t, got.err)
		require.Equal(t, 1, failed, "the proof")
		status, err := store.Inspect(background, driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, got.lease.Token(), status.Token)
		assert.LessOrEqual(t, time.Until(got.lease.ExpiresAt()), status.ExpiresIn)
		require.NoError(t, got.lease.Release(background))
	})
}

// Promise 5 of docs/guarantees.md: when a caller gives up, the caller's recorded request is withdrawn. No event reports
// an unknown outcome.
func TestARecordedRequestIsWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := &granting{Backend: store}
		resolved := 0
		holder := locker(t, b, rowlock.TTL(ttl))
		waiter := locker(t, b, rowlock.TTL(ttl), rowlock.Tracing(&rowlock.Trace{Resolved: func(rowlock.ResolvedEvent) { resolved++ }}))
		lease := acquire(t, holder, "a")
		_, err := waiter.Acquire(background, "a", rowlock.Wait(time.Second))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		synctest.Wait()
		b.mu.Lock()
		assert.Len(t, b.taken, 1)
		assert.Nil(t, b.left)
		b.mu.Unlock()
		require.NoError(t, lease.Release(background))
		again, err := holder.TryAcquire(background, "a")
		require.NoError(t, err, "the name is free")
		require.NoError(t, again.Release(background))
		assert.Zero(t, resolved)
		_, err = holder.TryAcquire(background, "a")
		require.NoError(t, err)
		_, err = waiter.TryAcquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		assert.Len(t, b.taken, 1, "a caller that does not wait leaves nothing behind")
	})
}

// Promise 5 of docs/guarantees.md: a recorded request is withdrawn before Acquire returns, even if a later request got
// no reply.
func TestARecordedRequestIsWithdrawnAfterAMissingReply(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		b := &granting{Backend: store}
		lease := acquire(t, locker(t, b, rowlock.TTL(ttl)), "a")
		got := make(chan error)
		go func() {
			_, err := locker(t, b, rowlock.TTL(ttl)).Acquire(background, "a", rowlock.Wait(time.Second))
			got <- err
		}()
		synctest.Wait()
		faults(store, map[memlock.Op]memlock.Fault{
			memlock.OpAcquire: {Fail: errors.New("EOF")},
			memlock.OpRelease: {Request: 100 * time.Millisecond},
		})
		b.wake()
		require.ErrorIs(t, <-got, rowlock.ErrUnavailable)
		b.mu.Lock()
		assert.NotEmpty(t, b.taken)
		assert.Nil(t, b.left)
		b.mu.Unlock()
		require.NoError(t, lease.Release(background))
	})
}
