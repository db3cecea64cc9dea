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

// entered is a store with a queue of waiters. A waiter joins the queue with its first request. The test sends the
// replies to the waiters on the channel answers. A nil reply is a grant.
type entered struct {
	*memlock.Backend

	inQueue chan driver.Request
	answers chan error
}

func newEntered(store *memlock.Backend) *entered {
	return &entered{store, make(chan driver.Request), make(chan error)}
}

func (s *entered) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	var held *driver.Held
	if !errors.As(err, &held) {
		return g, err
	}
	ctx = wait(held)
	select {
	case s.inQueue <- r:
	case <-ctx.Done():
		return driver.Grant{}, driver.NotApplied(ctx.Err())
	}
	select {
	case err := <-s.answers:
		if err != nil {
			return driver.Grant{}, err
		}
		return s.Backend.Acquire(ctx, r)
	case <-ctx.Done():
		return driver.Grant{}, driver.NotApplied(ctx.Err())
	}
}

// A caller that is ready to wait for a held name sends one request. The store refuses this request and adds the
// caller to the queue, and the caller's trace reports the wait. For a free name the request is granted,
// and the trace reports no wait.
func TestTheQueueIsEnteredAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		var told []string
		trace := rowlock.Tracing(&rowlock.Trace{
			HeldByOther: func(e rowlock.HeldByOtherEvent) { told = append(told, "held by "+e.Held.Holder) },
			Waiting:     func(rowlock.WaitingEvent) { told = append(told, "waiting") },
		})
		l := locker(t, s, rowlock.TTL(ttl), trace)
		require.NoError(t, acquire(t, l, "a").Release(t.Context()))
		assert.Empty(t, told)
		assert.Equal(t, 1, store.Calls(memlock.OpAcquire))

		before := acquire(t, locker(t, store, rowlock.TTL(time.Hour), rowlock.Holder("other")), "a")
		got := make(chan *rowlock.Lease, 1)
		go func() { lease, _ := l.Acquire(t.Context(), "a"); got <- lease }()
		<-s.inQueue
		assert.Equal(t, []string{"held by other", "waiting"}, told)
		assert.Equal(t, 3, store.Calls(memlock.OpAcquire))
		time.Sleep(10 * ttl)
		require.NoError(t, before.Release(t.Context()))
		renewals := store.Calls(memlock.OpRenew)
		s.answers <- nil
		lease := receive(t, got)
		require.NotNil(t, lease)
		assert.Equal(t, renewals+1, store.Calls(memlock.OpRenew), "a grant after a long wait is confirmed")
		assert.Equal(t, trust, time.Until(lease.ExpiresAt()))
		_, err := locker(t, s).TryAcquire(t.Context(), "a")
		require.ErrorIs(t, err, rowlock.ErrHeld, "a caller that does not wait does not join the queue")
	})
}

// If a wait ends without a grant, the error names the holder, whether the waiter is the first of the queue or waits
// behind other waiters.
func TestTheEndOfAWaitNamesTheHolder(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		acquire(t, locker(t, store, rowlock.Holder("other"), rowlock.Note("why")), "a")
		l := locker(t, s)
		ends := make(chan error)
		for range 2 {
			go func() {
				_, err := l.Acquire(t.Context(), "a", rowlock.Wait(time.Minute))
				ends <- err
			}()
		}
		<-s.inQueue
		start := time.Now()
		for range 2 {
			var held *rowlock.HeldError
			err := <-ends
			require.ErrorAs(t, err, &held)
			require.NotErrorIs(t, err, rowlock.ErrUnavailable)
			assert.Equal(t, "other", held.Holder)
			assert.Equal(t, "why", held.Note)
			assert.Equal(t, time.Minute, held.Waited)
		}
		assert.Equal(t, time.Minute, time.Since(start))
	})
}

// lateToTell is a store that reports the holder of a name only after the wait has begun.
type lateToTell struct{ *entered }

func (s lateToTell) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return s.entered.Await(ctx, r, func(held *driver.Held) context.Context {
		begun := wait(nil)
		if held.Note == "at last" {
			<-begun.Done()
		} else {
			time.Sleep(time.Second)
		}
		again := wait(held)
		if again != begun {
			panic("another context")
		}
		return again
	})
}

// The store may report the holder after the wait has begun, or when the wait ends. In both cases the time limit
// counts from the beginning of the wait, the trace reports the wait, and the error names the holder.
func TestTheHolderIsReportedLater(t *testing.T) {
	for _, note := range []string{"soon", "at last"} {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			s := lateToTell{newEntered(store)}
			acquire(t, locker(t, store, rowlock.Holder("other"), rowlock.Note(note), rowlock.TTL(time.Hour)), "a")
			s.inQueue = make(chan driver.Request, 1)
			var told []string
			l := locker(t, s, rowlock.Tracing(&rowlock.Trace{
				HeldByOther: func(e rowlock.HeldByOtherEvent) { told = append(told, "held by "+e.Held.Holder) },
				Waiting:     func(rowlock.WaitingEvent) { told = append(told, "waiting") },
			}))
			start := time.Now()
			_, err := l.Acquire(t.Context(), "a", rowlock.Wait(time.Minute))
			assert.Equal(t, time.Minute, time.Since(start))
			var held *rowlock.HeldError
			require.ErrorAs(t, err, &held)
			require.NotErrorIs(t, err, rowlock.ErrUnavailable)
			assert.Equal(t, "other", held.Holder)
			assert.Equal(t, time.Minute, held.Waited)
			assert.Equal(t, []string{"waiting", "held by other"}, told)
		})
	}
}

// The request that joins the queue has the same time limit as any other request. If the time of the option Wait is
// over while this request is in progress, the request may finish. If the store does not reply, the time limit ends
// the request.
func TestEnteringTheQueueIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {Reply: time.Second}})
		l := locker(t, s)
		acquire(t, l, "a", rowlock.Wait(time.Millisecond))
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseRequest: true}})
		start := time.Now()
		_, err := l.Acquire(t.Context(), "b")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		assert.LessOrEqual(t, time.Since(start), 36*time.Second)
	})
}

// If the store refuses a request without adding the waiter to its queue, the waiter polls.
func TestARefusalWithoutAPlaceInTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		acquire(t, locker(t, store), "a")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := locker(t, refusing{store}).Acquire(ctx, "a")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		synctest.Wait()
		assert.Less(t, store.Calls(memlock.OpAcquire), 30)
	})
}

// refusing is a store whose queue accepts no waiters.
type refusing struct{ *memlock.Backend }

func (s refusing) Await(ctx context.Context, r driver.Request, _ func(*driver.Held) context.Context) (driver.Grant, error) {
	return s.Acquire(ctx, r)
}

// If the store removes a waiter from its queue after a long wait, the waiter joins the queue again.
// The long wait does not count as an outage of the store.
func TestAPlaceLostAfterALongWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		losesItsPlace(t, store, s, s.inQueue, s.answers, driver.NotApplied(errors.New("the place is gone")))
	})
}

// losesItsPlace lets a waiter wait for a name. After each of three long waits, the store ends the wait with the error
// err. losesItsPlace checks that the waiter joins the queue again each time, and acquires the name when it is free.
func losesItsPlace(t *testing.T, store, by driver.Backend, inQueue <-chan driver.Request, answers chan<- error, err error) {
	t.Helper()
	before := acquire(t, locker(t, store), "a")
	got := make(chan error, 1)
	go func() { _, err := locker(t, by, rowlock.TTL(ttl)).Acquire(t.Context(), "a"); got <- err }()
	waits := func() {
		select {
		case <-inQueue:
		case err := <-got:
			t.Fatal("the wait ended:", err)
		}
	}
	for range 3 {
		waits()
		time.Sleep(time.Minute)
		answers <- err
	}
	waits()
	require.NoError(t, before.Release(t.Context()))
	answers <- nil
	require.NoError(t, receive(t, got))
}

// If the store stops replying, the wait ends with an error.
func TestAStoreThatGoesSilentEndsTheWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		acquire(t, locker(t, store), "a")
		got := make(chan error, 1)
		go func() { _, err := locker(t, s, rowlock.TTL(ttl)).Acquire(t.Context(), "a"); got <- err }()
		<-s.inQueue
		time.Sleep(time.Minute)
		faults(store, map[memlock.Op]memlock.Fault{memlock.OpAcquire: {LoseRequest: true}})
		start := time.Now()
		s.answers <- driver.NotApplied(errors.New("no reply"))
		require.ErrorIs(t, <-got, rowlock.ErrUnavailable)
		assert.LessOrEqual(t, time.Since(start), ttl+2*time.Second)
	})
}
