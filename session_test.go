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

// sessions is a store whose grants live on one connection, and that keeps waiters in a queue.
type sessions struct {
	*memlock.Backend

	connection context.Context
	queued     chan driver.Request // who waits in the store
	answers    chan error          // what they are told; nil is a grant
}

func newSessions(t *testing.T, store *memlock.Backend) (*sessions, context.CancelCauseFunc) {
	t.Helper()
	ctx, end := context.WithCancelCause(context.Background())
	t.Cleanup(func() { end(nil) })
	return &sessions{store, ctx, make(chan driver.Request), make(chan error)}, end
}

func (s *sessions) Session(driver.Grant) context.Context { return s.connection }

func (s *sessions) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	var held *driver.Held
	if !r.Waiting {
		g, err := s.Backend.Acquire(ctx, r)
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
		return s.Backend.Acquire(ctx, r)
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
}

// A lease ends at once when its connection does, and says so.
func TestALeaseEndsWithItsSession(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, end := newSessions(t, store)
		lost := make(chan rowlock.LostEvent, 1)
		lease := acquire(t, locker(t, s, rowlock.Tracing(&rowlock.Trace{Lost: func(e rowlock.LostEvent) { lost <- e }})), "a")
		synctest.Wait() // the scheduler sleeps
		end(errors.New("terminated"))
		assert.Zero(t, until(t, lease.Context().Done()))
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
		ended := time.Now()
		assert.Equal(t, rowlock.LostSession, (<-lost).Reason)
		assert.Zero(t, time.Since(ended), "the trace hears of it at once")
	})
}

// late is a session that has ended, and whose end nobody has come to tell yet.
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

// Every getter looks at the session as it looks at the clocks: a lease is not believed after its session, however late
// the goroutine is that tells its end.
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

// A session that ended before the lease was made ends it as well.
func TestALeaseOfAnEndedSession(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, end := newSessions(t, store)
		end(nil)
		lease := acquire(t, locker(t, s), "a")
		assert.Zero(t, until(t, lease.Context().Done()))
	})
}

// What happens to a session after the release is no loss.
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

// A maximum hold frees the name where the store does not, although the holder hangs.
func TestMaxHoldLetsASessionGo(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		lease := acquire(t, locker(t, s, rowlock.TTL(time.Hour), rowlock.MaxHold(time.Second)), "a")
		<-lease.Context().Done()
		synctest.Wait()
		_, err := locker(t, store).TryAcquire(t.Context(), "a")
		require.NoError(t, err)
	})
}

// After a refusal the first waiter waits in the store's queue, not by polling, and a grant after a
// long wait is proven before it is trusted.
func TestWaitingInTheStoresQueue(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		before := acquire(t, locker(t, store, rowlock.TTL(time.Hour)), "a") // is not renewed meanwhile
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
		assert.Equal(t, trust, time.Until(lease.ExpiresAt()), "trust counts from the proof, not from the beginning of the wait")
	})
}

// A grant of an ordinary request is trusted from before it was sent, however late the reply was: the
// store is not asked a second time before the caller has it.
func TestASlowAcquireIsNotProven(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Reply: ttl / 5}, memlock.OpRenew: {LoseRequest: true}})
		start := time.Now()
		lease, took := acquireWithin(t, soon, locker(t, store, rowlock.TTL(ttl), rowlock.RenewEvery(ttl/10)), "a")
		assert.Equal(t, ttl/5, took)
		assert.Equal(t, trust, lease.ExpiresAt().Sub(start))
	})
}

// A grant that cannot be proven after a long wait is given back.
func TestAGrantThatIsNotProvenIsTakenBack(t *testing.T) {
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
		synctest.Wait() // it is granted, and being proven
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {LoseRequest: true}, memlock.OpAcquire: {LoseRequest: true}})
		time.Sleep(ttl)
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		faults(store, nil)
		time.Sleep(30 * time.Second) // what is taken back is asked for again within seconds; the TTL is an hour
		_, err := locker(t, store).TryAcquire(t.Context(), "a")
		require.NoError(t, err)
	})
}

// A wait in the queue that ends by its bound was refused; it is not the store that failed.
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

// A connection that breaks after a long wait in the queue costs the place and not the wait: the store is asked
// whether it is there, and queues it again.
func TestAConnectionThatBreaksAfterALongWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s, _ := newSessions(t, store)
		losesItsPlace(t, store, s, s.queued, s.answers, errors.New("broken pipe"))
	})
}
