package rowlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// Promise 5 of docs/guarantees.md: an acquire whose reply was lost is repeated, and returns the same grant.
func TestARepeatedAcquireReturnsTheSameGrant(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		store.LoseReply(memlock.OpAcquire)
		lease := acquire(t, l, "a")
		status, err := store.Inspect(t.Context(), driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, lease.Token(), status.Token)
		assert.Equal(t, 2, store.Calls(memlock.OpAcquire))
		assert.GreaterOrEqual(t, status.Age, time.Second, "the first request was granted")
		assert.LessOrEqual(t, time.Until(lease.ExpiresAt()), status.ExpiresIn, "promise 2 of docs/guarantees.md holds for it")
		require.NoError(t, lease.Release(background))
	})
}

// Promise 5 of docs/guarantees.md: if a caller gives up while the reply to its acquire is missing, the name does not
// stay held.
func TestAnAcquireThatGaveUpIsReleased(t *testing.T) {
	for name, fault := range map[string]memlock.Fault{
		"reply lost":            {LoseReply: true},
		"reply late":            {Reply: time.Hour},
		"request arrives later": {Request: 1600 * time.Millisecond, Late: true}, // the call awaits a reply for a second after its ctx
		"request lost":          {LoseRequest: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				var resolved rowlock.ResolvedEvent
				l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Resolved: func(e rowlock.ResolvedEvent) { resolved = e }}))
				faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: fault})
				ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
				defer cancel()
				_, err := l.Acquire(ctx, "a")
				require.ErrorIs(t, err, rowlock.ErrUnavailable)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				faults(store, nil)
				time.Sleep(12 * time.Second) // longer than the time limit of a request, and much less than the TTL
				synctest.Wait()
				assert.Equal(t, "a", resolved.Name)
				assert.Equal(t, !fault.LoseRequest, resolved.Freed)
				require.NoError(t, resolved.Err)
				lease, err := locker(t, store).TryAcquire(background, "a")
				require.NoError(t, err, "the name is free")
				require.NoError(t, lease.Release(background))
			})
		})
	}
}

// Promise 5 of docs/guarantees.md: if the outcome of an acquire is unknown, its grant is released in the background,
// even if the store is unreachable at first.
func TestAReleaseInTheBackgroundOutlastsAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseReply: true}, memlock.OpRelease: {Fail: context.DeadlineExceeded}})
		_, err := l.TryAcquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		time.Sleep(10 * time.Second)
		faults(store, nil)
		time.Sleep(2 * time.Second)
		_, err = locker(t, store).TryAcquire(background, "a")
		require.NoError(t, err)
	})
}

// Promise 5 of docs/guarantees.md: after a release, a late duplicate of the acquire does not keep the name held.
func TestALateDuplicateIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		store.Intercept(func(c memlock.Call) memlock.Fault {
			if c.Op == memlock.OpAcquire && c.N == 0 {
				return memlock.Fault{Request: 7 * time.Second, Late: true}
			}
			return memlock.Fault{}
		})
		lease, _ := acquireWithin(t, 6*time.Second, l, "a") // the first request arrives late, so the second request of this call acquires the lease
		require.NoError(t, lease.Release(background))
		time.Sleep(6 * time.Second)
		_, err := locker(t, store).TryAcquire(background, "a")
		require.NoError(t, err, "the duplicate was granted, and then released")
	})
}

// Promise 7 of docs/guarantees.md: Release works with a cancelled ctx, returns the same result when it is repeated, and
// reports an earlier loss.
func TestReleaseAlwaysWorks(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		ctx, cancel := context.WithCancel(background)
		lease, err := l.Acquire(ctx, "a")
		require.NoError(t, err)
		cancel()
		require.NoError(t, lease.Release(ctx))
		require.NoError(t, lease.Release(ctx))
		require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
		require.ErrorIs(t, lease.Err(), rowlock.ErrNotHeld)
		require.ErrorIs(t, lease.Renew(background), rowlock.ErrReleased)
		require.ErrorIs(t, context.Cause(lease.Context()), rowlock.ErrReleased)

		lease = acquire(t, l, "a")
		store.Lose("a") // nobody has noticed the loss yet
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
	})
}

// Promise 7 of docs/guarantees.md: if a release gets no reply, the call ends within a limited time and reports an
// unknown outcome. The release is retried in the background.
func TestAReleaseWithoutAReplyIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRelease: {LoseRequest: true}})
		start := time.Now()
		require.ErrorIs(t, lease.Release(background), rowlock.ErrUnknown)
		assert.LessOrEqual(t, time.Since(start), 5*time.Second)
		faults(store, nil)
		time.Sleep(7 * time.Second)
		_, err := locker(t, store).TryAcquire(background, "a")
		require.NoError(t, err, "before its TTL of 30 s was over")
	})
}

// Promise 7 of docs/guarantees.md: a release may be applied although its reply is lost. When such a release is
// repeated, it does not count as a loss.
func TestAReleaseIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store)
		lease := acquire(t, l, "a")
		store.Intercept(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{LoseReply: c.Op == memlock.OpRelease && c.N == 0}
		})
		require.NoError(t, lease.Release(background))
		status, err := store.Inspect(background, driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, driver.StateFree, status.State)
	})
}

// Promise 7 of docs/guarantees.md: after a release without a reply, another process may acquire the name. Then the
// repeated release reports an unknown outcome, and no loss.
func TestAReleaseDoesNotReportItsOwnEffectAsALoss(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store), "a")
		other := locker(t, store)
		got := waitFor(t, other, background)
		store.LoseReply(memlock.OpRelease)
		err := lease.Release(background)
		require.ErrorIs(t, err, rowlock.ErrUnknown)
		require.NotErrorIs(t, err, rowlock.ErrLost)
		require.NoError(t, receive(t, got).err)
	})
}
