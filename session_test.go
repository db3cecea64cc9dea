package rowlock_test

import (
	"context"
	"errors"
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

// sessions is a store whose grants belong to one connection, and that has a queue of waiters.
type sessions struct {
	*memlock.Backend

	connection context.Context
	queued     chan driver.Request // receives the request of each waiter in the store's queue
	answers    chan error          // the replies to these waiters; a nil reply is a grant
}

func newSessions(t *testing.T, store *memlock.Backend) (*sessions, context.CancelCauseFunc) {
	t.Helper()
	ctx, end := context.WithCancelCause(context.Background())
	t.Cleanup(func() { end(nil) })
	return &sessions{store, ctx, make(chan driver.Request), make(chan error)}, end
}

func (s *sessions) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	g.Session = s.connection
	return g, err
}

func (s *sessions) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	var held *driver.Held
	if !r.Waiting {
		g, err := s.Acquire(ctx, r)
		if !errors.As(err, &held) {
			return g, err
		}
	}
	ctx = wait(held)
	select {
	case s.queued <- r:
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
	select {
	case err := <-s.answers:
		if err != nil {
			return driver.Grant{}, err
		}
		return s.Acquire(ctx, r)
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
}

// When a connection ends, its lease is lost at once, with the reason LostSession.
func TestALeaseEndsWithItsSession(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, end := newSessions(t, store)
		lost := make(chan rowlock.LostEvent, 1)
		lease := acquire(t, locker(t, s, rowlock.Tracing(&rowlock.Trace{Lost: func(e rowlock.LostEvent) { lost <- e }})), "a")
		synctest.Wait() // waits until the scheduler sleeps
		end(errors.New("terminated"))
		assert.Zero(t, until(t, lease.Context().Done()))
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
		ended := time.Now()
		assert.Equal(t, rowlock.LostSession, (<-lost).Reason)
		assert.Zero(t, time.Since(ended), "the trace gets the event at once")
	})
}

// late is a session whose end is reported by Err, but never by AfterFunc.
type late struct {
	context.Context

	done chan struct{}
}

func (l late) Done() <-chan struct{}             { return l.done }
func (late) AfterFunc(func()) (stop func() bool) { return func() bool { return true } }

func (l late) Err() error {
	select {
	case <-l.done:
		return context.Canceled
	default:
		return nil
	}
}

// Every getter checks the session, as it checks the clocks. After the end of its session a lease is not trusted, even if the
// goroutine that reports the end is late.
func TestAGetterLooksAtTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		session := late{context.Background(), make(chan struct{})}
		s.connection = session
		lease := acquire(t, locker(t, s), "a")
		require.NoError(t, lease.Err())
		close(session.done)
		require.ErrorIs(t, lease.Context().Err(), context.Canceled)
		var lost *rowlock.LostError
		require.ErrorAs(t, lease.Err(), &lost)
		assert.Equal(t, rowlock.LostSession, lost.Reason)
		require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
	})
}

// If a session ended before its lease was created, the lease is lost at once.
func TestALeaseOfAnEndedSession(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, end := newSessions(t, store)
		end(nil)
		lease := acquire(t, locker(t, s), "a")
		assert.Zero(t, until(t, lease.Context().Done()))
	})
}

// The end of a session after the release is no loss.
func TestAReleasedLeaseHasNoSession(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, end := newSessions(t, store)
		lease := acquire(t, locker(t, s, rowlock.Tracing(&rowlock.Trace{Lost: func(rowlock.LostEvent) { t.Error("lost") }})), "a")
		require.NoError(t, lease.Release(t.Context()))
		end(nil)
		synctest.Wait()
		require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
	})
}

// A maximum hold frees the name of a session lock, even if the holder hangs.
func TestMaxHoldReleasesASessionLock(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		lease := acquire(t, locker(t, s, rowlock.TTL(time.Hour), rowlock.MaxHold(time.Second)), "a")
		<-lease.Context().Done()
		synctest.Wait()
		_, err := locker(t, store).TryAcquire(t.Context(), "a")
		require.NoError(t, err)
	})
}

// After a refusal the first waiter waits in the store's queue and does not poll. A grant after a long wait is
// confirmed before it is trusted.
func TestWaitingInTheStoresQueue(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		before := acquire(t, locker(t, store, rowlock.TTL(time.Hour)), "a") // the long TTL prevents a renewal during the test
		var attempts, proofs atomic.Int32
		store.Intercept(func(c memlock.Call) memlock.Fault {
			if c.Op == memlock.OpAcquire {
				attempts.Add(1)
			}
			return memlock.Fault{}
		})
		l := locker(t, s, rowlock.TTL(ttl))
		got := make(chan *rowlock.Lease, 1)
		go func() { lease, _ := l.Acquire(t.Context(), "a"); got <- lease }()
		<-s.queued
		time.Sleep(10 * ttl)
		assert.EqualValues(t, 1, attempts.Load(), "it does not poll")
		s.answers <- &driver.Held{}
		<-s.queued
		time.Sleep(10 * ttl)
		require.NoError(t, before.Release(t.Context()))
		store.Intercept(func(c memlock.Call) memlock.Fault {
			if c.Op == memlock.OpRenew {
				proofs.Add(1)
			}
			return memlock.Fault{}
		})
		s.answers <- nil
		lease := receive(t, got)
		require.NotNil(t, lease)
		assert.EqualValues(t, 1, proofs.Load())
		assert.Equal(t, trust, time.Until(lease.ExpiresAt()), "the TTL counts from the confirmation, not from the beginning of the wait")
	})
}

// A grant of an ordinary request is trusted from before the request was sent, however late the reply was. Acquire returns the
// lease without a confirmation.
func TestASlowAcquireIsNotProven(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Reply: ttl / 5}, memlock.OpRenew: {LoseRequest: true}})
		start := time.Now()
		lease, took := acquireWithin(t, soon, locker(t, store, rowlock.TTL(ttl), rowlock.RenewEvery(ttl/10)), "a")
		assert.Equal(t, ttl/5, took)
		assert.Equal(t, trust, lease.ExpiresAt().Sub(start))
	})
}

// A grant that cannot be confirmed after a long wait is released.
func TestAGrantWithoutConfirmationIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		before := acquire(t, locker(t, store), "a")
		ctx, cancel := context.WithCancel(t.Context())
		l := locker(t, s, rowlock.TTL(time.Hour), rowlock.RenewEvery(ttl))
		failed := make(chan error, 1)
		go func() { _, err := l.Acquire(ctx, "a"); failed <- err }()
		<-s.queued
		time.Sleep(10 * ttl)
		require.NoError(t, before.Release(t.Context()))
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}})
		s.answers <- nil
		synctest.Wait() // the waiter is granted the name, and the confirmation is in progress
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}, memlock.OpAcquire: {LoseRequest: true}})
		time.Sleep(ttl)
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		faults(store, nil)
		time.Sleep(30 * time.Second) // releases are retried within seconds; the TTL is an hour
		_, err := locker(t, store).TryAcquire(t.Context(), "a")
		require.NoError(t, err)
	})
}

// If the wait in the queue reaches its limit, the call returns a refusal and not a failure of the store.
func TestTheEndOfAQueuedWaitIsARefusal(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		acquire(t, locker(t, store), "a")
		go func() { <-s.queued }()
		_, err := locker(t, s).Acquire(t.Context(), "a", rowlock.Wait(time.Minute))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		require.NotErrorIs(t, err, rowlock.ErrUnavailable)
	})
}

// If the connection breaks after a long wait in the queue, the store removes the waiter from the queue.
// The waiter checks that the store replies, and joins the queue again.
func TestAConnectionThatBreaksAfterALongWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		losesItsPlace(t, store, s, s.queued, s.answers, errors.New("broken pipe"))
	})
}
