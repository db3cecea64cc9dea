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

// entered is a store whose queue is entered by the request that tries. Those who stand in it are told by
// answers, nil being a grant.
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

// Whoever is ready to wait is refused and stands in the store's queue by one request, and says so in its trace; a
// free name is had by one request, without a word of waiting.
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
		assert.Equal(t, renewals+1, store.Calls(memlock.OpRenew), "a grant after a long wait is proven")
		assert.Equal(t, trust, time.Until(lease.ExpiresAt()))
		_, err := locker(t, s).TryAcquire(t.Context(), "a")
		require.ErrorIs(t, err, rowlock.ErrHeld, "whoever does not wait does not stand in the queue")
	})
}

// Whoever waits in vain is told by whom the name was held, at the front of the process and behind it.
func TestTheEndOfAWaitSaysWhoHolds(t *testing.T) {
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

// lateToTell is a store that does not know at once who holds a name.
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

// Who holds the name may be told after the wait has begun, or only when it ends: it is bounded from its begin, is
// traced as a wait, and says who it was.
func TestWhoHoldsIsToldLater(t *testing.T) {
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

// The request that enters the queue is bounded as any other: it is let finish when the wait is over meanwhile,
// and a store that says nothing ends it.
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

// A refusal that brought no place in the queue is waited out as any other, by polling.
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

// refusing is a store whose queue takes nobody.
type refusing struct{ *memlock.Backend }

func (s refusing) Await(ctx context.Context, r driver.Request, _ func(*driver.Held) context.Context) (driver.Grant, error) {
	return s.Acquire(ctx, r)
}

// A place in the queue that is lost after a long wait costs the place and not the wait: the store has not been
// silent for all that time.
func TestAPlaceLostAfterALongWait(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := newEntered(store)
		losesItsPlace(t, store, s, s.inQueue, s.answers, driver.NotApplied(errors.New("the place is gone")))
	})
}

// losesItsPlace waits for a name of the store by a backend that tells who is in its queue, loses the place there by err
// after each of three long waits, and has the name all the same as soon as it is free.
func losesItsPlace(t *testing.T, store, by driver.Backend, inQueue <-chan driver.Request, answers chan<- error, err error) {
	t.Helper()
	before := acquire(t, locker(t, store), "a")
	got := make(chan error, 1)
	go func() { _, err := locker(t, by, rowlock.TTL(ttl)).Acquire(t.Context(), "a"); got <- err }()
	waits := func() {
		select {
		case <-inQueue:
		case err := <-got:
			t.Fatal("it waits no more:", err)
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

// A store that is silent from some time of the wait on ends it all the same.
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
		s.answers <- driver.NotApplied(errors.New("nothing was heard"))
		require.ErrorIs(t, <-got, rowlock.ErrUnavailable)
		assert.LessOrEqual(t, time.Since(start), ttl+2*time.Second)
	})
}
