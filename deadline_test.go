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

const (
	ttl   = 3 * time.Second
	trust = ttl - ttl/10 // how long a lease is trusted: the TTL minus a margin of a tenth, as for a store with a wall clock
)

// Promise 2 of docs/guarantees.md: a store that hangs does not delay the report of a loss, because a local timer ends
// the trust.
func TestHangingStoreDelaysNoLoss(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		assert.Equal(t, trust, until(t, lease.Context().Done()))
		require.ErrorIs(t, context.Cause(lease.Context()), rowlock.ErrLost)
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
	})
}

// A LostError contains the error of the last renewal in its text and in Err, but errors.Is does not match that error.
func TestALossSaysHowTheLastRenewalFailed(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		time.Sleep(ttl / 2)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		until(t, lease.Context().Done())
		var lost *rowlock.LostError
		require.ErrorAs(t, lease.Err(), &lost)
		require.ErrorIs(t, lost.Err, context.DeadlineExceeded)
		require.ErrorContains(t, lost, "; the last attempt: ")
		require.NotErrorIs(t, lost, context.DeadlineExceeded)
	})
}

// Promise 2 of docs/guarantees.md: the deadline is counted from an instant before the request was sent, and not from
// the reply.
func TestDeadlineCountsFromBeforeTheSend(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		const slow = 700 * time.Millisecond
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Reply: slow}, memlock.OpRenew: {LoseRequest: true}})
		start := time.Now()
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		assert.Equal(t, slow, time.Since(start))
		assert.Equal(t, start.Add(trust), lease.ExpiresAt())
		assert.Equal(t, trust-slow, until(t, lease.Context().Done()))
	})
}

// Promise 2 of docs/guarantees.md: a reply after the deadline does not revive the lease, even if the store has renewed
// the lease.
func TestLateReplyRevivesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl))
		lease := acquire(t, l, "a")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		time.Sleep(trust - time.Millisecond)
		require.NoError(t, lease.Err())
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Reply: 2 * time.Millisecond}})
		require.ErrorIs(t, lease.Renew(t.Context()), rowlock.ErrLost)
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost, "loss latches")
		_, err := l.TryAcquire(t.Context(), "a")
		require.ErrorIs(t, err, rowlock.ErrHeld, "the store did renew it")
	})
}

// Promise 6 of docs/guarantees.md: if the reply to a renewal is lost, the renewal is retried, and no lease is lost.
func TestLostRenewalRepliesAreTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var failed, renewed int
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl), rowlock.Tracing(&rowlock.Trace{
			RenewalFailed: func(e rowlock.RenewalFailedEvent) { failed++; assert.Positive(t, e.Left) },
			Renewed:       func(rowlock.RenewedEvent) { renewed++ },
		})), "a")
		store.Intercept(func(c memlock.Call) memlock.Fault {
			return memlock.Fault{LoseReply: c.Op == memlock.OpRenew && c.N%2 == 0}
		})
		time.Sleep(20 * ttl)
		require.NoError(t, lease.Err())
		synctest.Wait()
		assert.GreaterOrEqual(t, failed, 10)
		assert.GreaterOrEqual(t, renewed, 10)
	})
}

// Promise 6 of docs/guarantees.md: during an outage of half a TTL no lease is lost.
func TestShortOutageLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl)), "a")
		for range 20 {
			faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Fail: context.DeadlineExceeded}})
			time.Sleep(ttl / 2)
			faults(store, nil)
			time.Sleep(ttl / 2)
			require.NoError(t, lease.Err())
		}
	})
}

// If the store replies to a renewal that it no longer has the lease, the lease is lost at once.
func TestTakenLeaseIsLostWithTheNextRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lost := make(chan rowlock.LostEvent, 1)
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl), rowlock.Tracing(&rowlock.Trace{
			Lost: func(e rowlock.LostEvent) { lost <- e },
		})), "a")
		store.Lose("a")
		assert.Equal(t, ttl/3, until(t, lease.Context().Done()))
		assert.Equal(t, rowlock.LostTaken, (<-lost).Reason)
		var err *rowlock.LostError
		require.ErrorAs(t, lease.Release(t.Context()), &err)
		assert.Equal(t, lease.Token(), err.Token)
	})
}

// If a release is the first call that notices a loss, one Lost event is emitted.
func TestReleaseReportsALossThatItNotices(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var lost []rowlock.LostEvent
		l := locker(t, store, rowlock.Tracing(&rowlock.Trace{Lost: func(e rowlock.LostEvent) { lost = append(lost, e) }}))
		lease := acquire(t, l, "a")
		store.Lose("a")
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		require.Len(t, lost, 1)
		assert.Equal(t, rowlock.LostTaken, lost[0].Reason)

		late := acquire(t, l, "b", rowlock.TTL(ttl))
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		time.Sleep(trust) // now the deadline has come, so the release and the scheduler notice the loss at the same instant
		require.ErrorIs(t, late.Release(background), rowlock.ErrLost)
		synctest.Wait()
		require.Len(t, lost, 2)
		assert.Equal(t, rowlock.LostExpired, lost[1].Reason)
	})
}

// If a renewal gets no reply, the error of Renew says why. If the reply of the store has no outcome for the lease, the
// error says that.
func TestRenewReportsItsCause(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lease := acquire(t, locker(t, store), "a")
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Fail: errSpoiled}})
		err := lease.Renew(background)
		require.ErrorIs(t, err, rowlock.ErrUnknown)
		require.ErrorIs(t, err, errSpoiled)
		err = acquire(t, locker(t, untold{store}), "b").Renew(background)
		require.ErrorIs(t, err, rowlock.ErrUnknown)
		require.ErrorContains(t, err, "did not report an outcome for this lease")
	})
}

// untold is a store that replies to every renewal with the outcome Unknown.
type untold struct{ *memlock.Backend }

func (u untold) Renew(_ context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return make([]driver.Outcome, len(grants)), nil
}

// MaxHold ends a lease even if the lease is renewed.
func TestMaxHoldEndsTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		lost := make(chan rowlock.LostEvent, 1)
		lease := acquire(t, locker(t, store, rowlock.TTL(ttl), rowlock.MaxHold(10*time.Second), rowlock.Tracing(&rowlock.Trace{
			Lost: func(e rowlock.LostEvent) { lost <- e },
		})), "a")
		assert.Equal(t, 10*time.Second, until(t, lease.Context().Done()))
		assert.Equal(t, rowlock.LostMaxHold, (<-lost).Reason)
		require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
	})
}

// Promise 11 of docs/guarantees.md: ten thousand leases are renewed with about ten requests in each interval.
func TestLeasesAreRenewedInBatches(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(30*time.Second))
		for i := range 10_000 {
			acquire(t, l, string(rune('a'+i/1000))+time.Duration(i).String())
			if i%100 == 0 {
				time.Sleep(25 * time.Millisecond) // the leases are acquired over 2.5 seconds
			}
		}
		time.Sleep(time.Minute)
		before := store.Calls(memlock.OpRenew)
		time.Sleep(time.Minute)
		assert.LessOrEqual(t, store.Calls(memlock.OpRenew)-before, 6*10+6*2, "a minute has six or seven rounds of ten")
	})
}
