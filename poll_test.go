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

// silent is a store that sends no notifications. It records the times of the refused requests, and reports the number
// of waiters ahead that the test sets.
type silent struct {
	driver.Backend

	mu     sync.Mutex
	asked  []time.Time
	ahead  int
	series bool // true if the store always reports that the name was granted a millisecond ago
}

func (s *silent) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if held, ok := err.(*driver.Held); ok { //nolint:errorlint // memlock returns this error unwrapped
		s.asked = append(s.asked, time.Now())
		held.Ahead, held.Since = s.ahead, max(held.Since, time.Microsecond) // zero means unknown
		if s.series {
			held.Since = time.Millisecond
		}
	}
	return g, err
}

// questions returns the number of refused requests since t.
func (s *silent) questions(t time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.asked {
		if at.After(t) {
			n++
		}
	}
	return n
}

// Promise 9 of docs/guarantees.md: without notifications, a waiter polls often if the name has been held for a short
// time. If the name has been held for an hour, the waiter polls about once a second. The more waiters are ahead, the
// less often it polls.
func TestThePollFollowsTheHold(t *testing.T) {
	for name, c := range map[string]struct {
		held        time.Duration // how long the name is held before the waiter calls Acquire
		ahead       int
		within      time.Duration // the period in which the requests are counted
		least, most int           // limits of the number of requests
	}{
		"a moment":             {time.Millisecond, 0, 12 * time.Millisecond, 2, 6},
		"a moment, in line":    {time.Millisecond, 7, 100 * time.Millisecond, 1, 8},
		"a second":             {time.Second, 0, time.Second, 2, 8},
		"an hour":              {time.Hour, 0, time.Minute, 40, 121},
		"an hour, in line":     {time.Hour, 7, time.Minute, 40, 121},
		"a minute, far behind": {time.Minute, 1000, time.Minute, 40, 121},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlock.Backend) {
				acquire(t, locker(t, store), "a", rowlock.TTL(2*time.Hour))
				time.Sleep(c.held)
				s := &silent{Backend: store, ahead: c.ahead}
				l := locker(t, s)
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				go func() { _, _ = l.Acquire(ctx, "a") }()
				synctest.Wait()
				began := time.Now()
				time.Sleep(c.within)
				got := s.questions(began)
				assert.GreaterOrEqual(t, got, c.least)
				assert.LessOrEqual(t, got, c.most)
			})
		})
	}
}

// Promise 9 of docs/guarantees.md: in a series of hand-overs of another process, each holder has held the name only
// briefly. Nevertheless a waiter polls less and less often while the series lasts.
func TestThePollSlowsDownDuringASeriesOfHandOvers(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		acquire(t, locker(t, store), "a", rowlock.TTL(2*time.Hour))
		s := &silent{Backend: store, series: true}
		l := locker(t, s)
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		go func() { _, _ = l.Acquire(ctx, "a") }()
		synctest.Wait()
		began := time.Now()
		time.Sleep(100 * time.Millisecond)
		got := s.questions(began)
		assert.GreaterOrEqual(t, got, 7)
		assert.LessOrEqual(t, got, 18, "one poll every 4 ms would be 25")
		began = time.Now()
		time.Sleep(time.Second)
		assert.GreaterOrEqual(t, s.questions(began), 26)
	})
}

// Promise 9 of docs/guarantees.md: a waiter behind a holder of its own process is woken by the holder's release, and
// polls the store only as a safeguard.
func TestAWaiterBehindALocalHolderPollsRarely(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		s := &silent{Backend: store}
		l := locker(t, struct {
			*silent
			driver.HandOverer
		}{s, store})
		first, leases := acquire(t, l, "a"), make(chan *rowlock.Lease, 2)
		for range 2 {
			go func() {
				lease, err := l.Acquire(background, "a")
				assert.NoError(t, err)
				leases <- lease
			}()
			synctest.Wait()
		}
		require.NoError(t, first.Release(background))
		second := receive(t, leases)
		began := time.Now()
		time.Sleep(time.Second)
		assert.LessOrEqual(t, s.questions(began), 8)
		began = time.Now()
		require.NoError(t, second.Release(background))
		third := receive(t, leases)
		assert.Less(t, time.Since(began), 10*time.Millisecond)
		require.NoError(t, third.Release(background))
	})
}

// Promise 9 of docs/guarantees.md: without notifications, a waiter acquires the name some time after the previous
// holder has released it. On average this delay is at most a fifth of the hold, and it is never longer than 1.5
// seconds.
func TestAHandOverByPollIsSoonAfterAShortHold(t *testing.T) {
	for _, hold := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Minute} {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			const rounds = 50
			a, b := locker(t, store), locker(t, &silent{Backend: store})
			var late time.Duration
			for range rounds {
				held := acquire(t, a, "a")
				var released time.Time
				go func() {
					time.Sleep(hold)
					released = time.Now()
					assert.NoError(t, held.Release(background))
				}()
				lease, _ := acquireWithin(t, time.Hour, b, "a")
				one := time.Since(released)
				assert.LessOrEqual(t, one, min(max(hold/2, 6*time.Millisecond), 1500*time.Millisecond))
				late += one
				require.NoError(t, lease.Release(background))
			}
			assert.LessOrEqual(t, late/rounds, min(max(hold/5, 4*time.Millisecond), 800*time.Millisecond))
			t.Log("held for", hold, "and late by", late/rounds)
		})
	}
}

// Promise 9 of docs/guarantees.md: a waiter of a store that notifies polls only a few times in 100 ms.
func TestANotifiedWaiterStillPolls(t *testing.T) {
	bubble(t, func(t *testing.T, mem *memlock.Backend) {
		acquire(t, locker(t, mem), "a")
		time.Sleep(time.Millisecond)
		l := locker(t, waking{mem})
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		go func() { _, _ = l.Acquire(ctx, "a") }()
		synctest.Wait()
		before := mem.Calls(memlock.OpAcquire)
		time.Sleep(100 * time.Millisecond)
		assert.LessOrEqual(t, mem.Calls(memlock.OpAcquire)-before, 6)
	})
}

// Promise 9 of docs/guarantees.md: a waiter that the store has listed sends a request every 12 to 20 seconds. If a
// notification is lost, the waiter acquires the name after 20 seconds at the latest, and when the lease expires, at once.
func TestAListedWaiterPollsSeldom(t *testing.T) {
	bubble(t, func(t *testing.T, mem *memlock.Backend) {
		held := acquire(t, locker(t, mem), "a", rowlock.TTL(time.Hour))
		time.Sleep(time.Millisecond)
		l := locker(t, listing{mem})
		done := make(chan *rowlock.Lease, 1)
		wait := func() {
			lease, err := l.Acquire(background, "a", rowlock.TTL(time.Hour))
			assert.NoError(t, err)
			done <- lease
		}
		go wait()
		synctest.Wait()
		before := mem.Calls(memlock.OpAcquire)
		time.Sleep(11 * time.Second)
		assert.Equal(t, before, mem.Calls(memlock.OpAcquire))
		time.Sleep(10 * time.Second)
		assert.Equal(t, before+1, mem.Calls(memlock.OpAcquire))
		began := time.Now()
		require.NoError(t, held.Release(background))
		lease := <-done
		assert.LessOrEqual(t, time.Since(began), 20*time.Second)
		require.NoError(t, lease.Release(background))

		_, err := mem.Acquire(background, driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: 3 * time.Second})
		require.NoError(t, err)
		began = time.Now()
		go wait()
		lease = <-done
		assert.Less(t, time.Since(began), 3*time.Second+10*time.Millisecond)
		require.NoError(t, lease.Release(background))
	})
}

// listing is a store that lists waiters, and whose notifications are lost.
type listing struct{ *memlock.Backend }

func (listing) Notify(context.Context, driver.Key, func()) (func(), error) {
	return func() {}, nil
}

func (s listing) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	if held, ok := err.(*driver.Held); ok { //nolint:errorlint // memlock returns this error unwrapped
		held.Listed = true
	}
	return g, err
}

// waking is a store that declares that it notifies waiters.
type waking struct{ *memlock.Backend }

func (w waking) Capabilities() driver.Capabilities {
	c := w.Backend.Capabilities()
	c.Wakes = true
	return c
}

// Promise 10 of docs/guarantees.md: while the name is reserved for another waiter, a waiter retries only after the
// reservation has ended. Waiters further behind in the queue retry later.
func TestAReservationIsWaitedFor(t *testing.T) {
	for ahead, c := range []struct{ least, most time.Duration }{
		{45 * time.Millisecond, 60 * time.Millisecond},
		{75 * time.Millisecond, 750 * time.Millisecond},
	} {
		bubble(t, func(t *testing.T, store *memlock.Backend) {
			began := time.Now()
			s := &reserving{Backend: store, until: began.Add(50 * time.Millisecond), ahead: ahead}
			require.NoError(t, acquire(t, locker(t, s), "a").Release(background))
			assert.GreaterOrEqual(t, time.Since(began), c.least)
			assert.LessOrEqual(t, time.Since(began), c.most)
			assert.LessOrEqual(t, s.refused, 3)
		})
	}
}

// reserving is a store that reserves the name for another waiter for a while.
type reserving struct {
	driver.Backend

	until          time.Time
	ahead, refused int
}

func (s *reserving) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if left := time.Until(s.until); left > 0 {
		s.refused++
		return driver.Grant{}, &driver.Held{Reason: driver.Reserved, Since: time.Second, ExpiresIn: left, Ahead: s.ahead}
	}
	return s.Backend.Acquire(ctx, r)
}

// Promise 9 of docs/guarantees.md: the poll works with any values that the store reports for the hold and for the
// waiters ahead.
func TestThePollWorksWithAnyReportedValues(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, &ancient{store})
		acquire(t, locker(t, store), "a")
		_, err := l.Acquire(background, "a", rowlock.Wait(time.Minute))
		require.ErrorIs(t, err, rowlock.ErrHeld)
	})
}

// ancient reports a hold of thirty years and forty waiters.
type ancient struct{ *memlock.Backend }

func (ancient) Notify(context.Context, driver.Key, func()) (func(), error) {
	return nil, errors.New("deaf")
}

func (s ancient) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	if held, ok := err.(*driver.Held); ok { //nolint:errorlint // memlock returns this error unwrapped
		held.Ahead, held.Since = 40, 30*365*24*time.Hour
	}
	return g, err
}
