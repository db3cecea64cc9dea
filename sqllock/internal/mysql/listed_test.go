package mysql

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// A waiter in the queue whose ear is open is listed, so that the engine polls seldom. It is not listed while its process
// is not in the queue, if it waits for a share, while readers hold the lock, while the ear has no connection, or after
// a grant for which no release has called the ear.
func TestMySQLAWaiterIsListed(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		b := on(f.db)
		_, err := b.Acquire(limited(t), request("a"))
		assert.False(t, requireHeld(t, err, driver.Leased).Listed, "it is not in the queue")
		l := f.listens(t, b, request("a"))
		assert.True(t, refusedAgain(t, b, l.request).Listed)
		reader := l.request
		reader.Shared = true
		assert.False(t, refusedAgain(t, b, reader).Listed)

		b.waiters.ear.setDeaf(t.Context(), true)
		assert.False(t, refusedAgain(t, b, l.request).Listed)
		b.waiters.ear.setDeaf(t.Context(), false)
		b.waiters.ear.granted(false)
		assert.False(t, refusedAgain(t, b, l.request).Listed)
		require.NoError(t, f.Release(limited(t), g))
		l.isWoken(t)
		l.request.Waiting = true
		require.NoError(t, b.Release(limited(t), mustAcquire(t, b, l.request)))

		mustAcquire(t, f, reading("a"))
		l.request.Waits = true
		assert.False(t, refusedAgain(t, b, l.request).Listed, "a reader has the lock")
	})
}

// If the ear's connection is lost and no other can be opened, the waiters are woken, so that they poll more often.
func TestMySQLALostEarWakesTheWaiters(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		mustAcquire(t, f, request("a"))
		l := f.listens(t, on(f.db), request("a"))
		e := l.waiters.ear
		conn, err := f.db.Conn(limited(t))
		require.NoError(t, err)
		defer conn.Close()
		killed := make(chan error, 1)
		go func() { // waits for the ear's lock, so that the next ear cannot have it
			_, err := conn.ExecContext(limited(t), "DO GET_LOCK(?, 20)", e.lock)
			killed <- err
		}()
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(testenv.Sessions(t, f.db), func(s testenv.Session) bool { return strings.HasPrefix(s.Statement, "DO GET_LOCK") })
		}, 20*time.Second, time.Millisecond)
		f.Exec(t, fmt.Sprintf("KILL CONNECTION IS_USED_LOCK('%s')", e.lock))
		l.isWoken(t)
		require.NoError(t, <-killed)
		assert.False(t, refusedAgain(t, l.Backend, l.request).Listed)
	})
}

// The first process of the queue counts as waiting for 35 seconds. It extends that time only when it gets short. A
// process that becomes the first because another was granted the lock or has left counts for as long.
func TestMySQLTheFirstCountsAsWaiting(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		left := func() time.Duration {
			return time.Duration(f.int(t, "SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), next_until) FROM rowlock_lease WHERE name = 'a'")) * time.Microsecond
		}
		age := func(to int) {
			f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) + INTERVAL ? SECOND WHERE name = 'a'", to)
		}
		const short, full = 22 * time.Second, 35 * time.Second
		g := mustAcquire(t, f, request("a"))
		first, second, third := request("a"), request("a"), request("a")
		one, two, three := on(f.db), on(f.db), on(f.db)
		_, stop := waits(t, one, first)
		waits(t, two, second)
		waits(t, three, third)
		assert.InDelta(t, full, left(), float64(10*time.Second))
		age(40)
		refusedAgain(t, one, first)
		assert.Greater(t, left(), full)
		age(12)
		refusedAgain(t, two, second)
		assert.Less(t, left(), short, "only the first counts")
		refusedAgain(t, one, first)
		assert.Greater(t, left(), short)
		age(12)
		stop()
		assert.Greater(t, left(), short)
		age(12)
		require.NoError(t, f.Release(limited(t), g))
		f.stretch(t)
		second.Waiting = true
		mustAcquire(t, two, second)
		assert.Greater(t, left(), short)
		assert.Zero(t, refusedAgain(t, three, third).Ahead)
	})
}

// If the first process of the queue does not come, the process that has released wakes it again, and the second, and
// then the third. That is so even if the locker of that process is closed at once.
func TestMySQLTheNextAreWokenWhenTheFirstDoesNotCome(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		var all []*listener
		for _, closes := range []bool{false, true} {
			b := on(f.db)
			var g driver.Grant
			require.Eventually(t, func() bool { // once the reservation for the first has ended
				var err error
				g, err = b.Acquire(limited(t), request("a"))
				return err == nil
			}, 20*time.Second, time.Millisecond)
			for len(all) < 3 {
				all = append(all, f.listens(t, on(f.db), request("a")))
			}
			for _, l := range all {
				l.again(t, f)
			}
			require.NoError(t, b.Release(limited(t), g))
			if closes {
				b.CloseIdle(limited(t))
				all[0].isWoken(t)
				all[1].isWoken(t)
				break
			}
			for _, l := range all {
				l.isWoken(t)
			}
		}
	})
}

// A dead process that no longer counts as waiting gets no reservation. The release wakes the others nevertheless, and
// removes the dead process from the queue.
func TestMySQLADeadFirstIsRemoved(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		dead := on(f.db)
		waits(t, dead, request("a"))
		dies(dead)
		l := f.listens(t, on(f.db), request("a"))
		f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) WHERE name = 'a'")
		require.NoError(t, f.Release(limited(t), g))
		assert.Zero(t, f.int(t, "SELECT held_until > UTC_TIMESTAMP(6) FROM rowlock_lease WHERE name = 'a'"))
		l.isWoken(t)
		require.Eventually(t, func() bool {
			return f.string(t, "SELECT waiters FROM rowlock_lease WHERE name = 'a'") == l.waiters.process
		}, 20*time.Second, time.Millisecond)
	})
}

// A release during the minimum hold wakes the first process of the queue, so that it learns when the minimum hold ends.
func TestMySQLAReleaseDuringTheMinimumHoldWakes(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		r := request("a")
		r.MinHold = time.Hour
		g := mustAcquire(t, f, r)
		l := f.listens(t, on(f.db), request("a"))
		require.NoError(t, f.Release(limited(t), g))
		l.isWoken(t)
		held := refusedAgain(t, l.Backend, l.request)
		assert.Equal(t, driver.MinHold, held.Reason)
		assert.Greater(t, held.ExpiresIn, 50*time.Minute)
	})
}

// A release that another transaction of the caller has made before, or whose reply was lost, still wakes the waiters.
func TestMySQLARepeatedReleaseWakes(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		l := f.listens(t, on(f.db), request("a"))
		s, err := f.server(limited(t))
		require.NoError(t, err)
		_, err = s.exec(limited(t), "release", releaseArgs(s, g)...)
		require.NoError(t, err)
		assert.Empty(t, l.woken)
		require.NoError(t, f.Release(limited(t), g))
		l.isWoken(t)
	})
}

// The process that has released a lock stops looking at it if the reservation does not end, for example because the
// server's clock was set back.
func TestMySQLALongReservationIsNotWatched(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		f.listens(t, on(f.db), request("a"))
		s, err := f.server(limited(t))
		require.NoError(t, err)
		s.watches.every = time.Second
		require.NoError(t, f.Release(limited(t), g))
		f.stretch(t)
		watched := func() bool {
			s.watches.mu.Lock()
			defer s.watches.mu.Unlock()
			return len(s.watches.byKey) > 0
		}
		require.True(t, watched())
		require.Eventually(t, func() bool { return !watched() }, time.Minute, 10*time.Millisecond)
		assert.EqualValues(t, 1, f.int(t, "SELECT held_until > expires_at FROM rowlock_lease WHERE name = 'a'"), "it is still reserved")
	})
}
