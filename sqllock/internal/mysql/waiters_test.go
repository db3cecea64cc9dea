package mysql

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A release or a forced release reserves the lock for the first process of the queue: other processes are refused,
// and that process is granted the lock.
func TestMySQLAReleaseKeepsTheNameForTheNext(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for _, force := range []bool{false, true} {
			holder, first, second := on(f.db), on(f.db), on(f.db)
			g := mustAcquire(t, holder, request("a"))
			r := request("a")
			held, stop := waits(t, first, r)
			defer stop()
			assert.Zero(t, held.Ahead)
			f.seen(t)
			held, stop = waits(t, second, request("a"))
			defer stop()
			assert.Equal(t, 1, held.Ahead)

			if force {
				require.NoError(t, holder.ForceRelease(limited(t), g.Key, g.Token, true))
			} else {
				require.NoError(t, holder.Release(limited(t), g))
			}
			kept := f.int(t, "SELECT TIMESTAMPDIFF(MICROSECOND, expires_at, held_until) FROM rowlock_lease WHERE name = 'a'")
			assert.EqualValues(t, 50_000, kept)
			assert.Equal(t, first.waiters.process, f.string(t, "SELECT reserved_for FROM rowlock_lease WHERE name = 'a'"))
			f.stretch(t)
			_, err := holder.Acquire(limited(t), request("a"))
			requireHeld(t, err, driver.Reserved)
			assert.Equal(t, driver.Reserved, refusedAgain(t, second, request("a")).Reason)
			tx := begin(t, f.db)
			requireHeld(t, inTx(limited(t), holder, tx, "a"), driver.Reserved)
			require.NoError(t, tx.Rollback())
			r.Waiting = true
			g = mustAcquire(t, first, r)
			assert.Zero(t, f.int(t, "SELECT COUNT(reserved_for) FROM rowlock_lease"), "it is held")
			f.seen(t)
			assert.Zero(t, refusedAgain(t, second, request("a")).Ahead, "it is next")
			require.NoError(t, first.Release(limited(t), g))
			r = request("a")
			r.Waiting = true
			require.NoError(t, second.Release(limited(t), mustAcquire(t, second, r)))
		}
	})
}

// A process writes its position into the queue once. Its later requests only read, until a second has passed: then the
// first process of the queue confirms that it waits. Only a request of the waiter does so.
func TestMySQLAQueuedProcessOnlyReads(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		mustAcquire(t, f, request("a"))
		db := f.open(t, nil)
		db.SetMaxOpenConns(1)
		b := on(db)
		r := request("a")
		_, stop := waits(t, b, r)
		defer stop()
		sent := func(call func()) int {
			before := executed(t, db)
			call()
			return executed(t, db) - before
		}
		f.seen(t)
		assert.Equal(t, 1, sent(func() { refusedAgain(t, b, r) }), "look.sql")

		f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) + INTERVAL 20 SECOND WHERE name = 'a'")
		assert.Equal(t, 1, sent(func() {
			_, err := b.Acquire(limited(t), request("a"))
			requireHeld(t, err, driver.Leased)
		}), "look.sql")
		assert.Equal(t, 2, sent(func() { refusedAgain(t, b, r) }), "look.sql and wait.sql")
	})
}

// Waiting processes are granted the lock in order of arrival, and each knows how many processes are before it. A
// process that waits again after a grant is last in the queue. A process that stops waiting in the middle of the
// queue does not delay the processes behind it.
func TestMySQLServesInTheOrderInWhichTheyCame(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		processes := []*Backend{on(f.db), on(f.db), on(f.db), on(f.db)}
		g := mustAcquire(t, f, request("a"))
		var stops []func()
		for i, b := range processes {
			for range 2 { // a retry changes nothing
				held, stop := waits(t, b, request("a"))
				f.seen(t)
				stop = sync.OnceFunc(stop)
				defer stop()
				assert.Equal(t, i, held.Ahead)
				stops = append(stops, stop)
			}
		}
		turn := func(by, next *Backend, from driver.Grant) driver.Grant {
			require.NoError(t, by.Release(limited(t), from))
			f.stretch(t)
			for _, other := range processes {
				if other != next {
					assert.Equal(t, driver.Reserved, refusedAgain(t, other, request("a")).Reason)
				}
			}
			r := request("a")
			r.Waiting = true
			g := mustAcquire(t, next, r)
			f.seen(t)
			return g
		}
		g = turn(f.Backend, processes[0], g)
		assert.Equal(t, 3, refusedAgain(t, processes[0], request("a")).Ahead)
		assert.Equal(t, 1, refusedAgain(t, processes[2], request("a")).Ahead)
		stops[4]()
		stops[5]()
		assert.Equal(t, 1, refusedAgain(t, processes[3], request("a")).Ahead)
		assert.Equal(t, 2, refusedAgain(t, processes[0], request("a")).Ahead)
		processes = append(processes[:2], processes[3])
		g = turn(processes[0], processes[1], g)
		g = turn(processes[1], processes[2], g)
		g = turn(processes[2], processes[0], g)
		require.NoError(t, processes[0].Release(limited(t), g))
	})
}

// A queue holds at most 400 processes. A further process is not added: it learns the length of the queue, and polls.
func TestMySQLALineThatIsFull(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		_, stop := waits(t, on(f.db), request("a"))
		defer stop()
		f.Exec(t, "UPDATE rowlock_lease SET waiters = TRIM(TRAILING ',' FROM REPEAT(CONCAT(waiters, ','), 399)) WHERE name = 'a'")
		last := on(f.db)
		held, stop := waits(t, last, request("a"))
		defer stop()
		assert.Equal(t, 399, held.Ahead)
		assert.Equal(t, 399, refusedAgain(t, last, request("a")).Ahead)
		held, stop = waits(t, on(f.db), request("a"))
		defer stop()
		assert.Equal(t, 400, held.Ahead)
		assert.EqualValues(t, 14799, f.int(t, "SELECT CHAR_LENGTH(waiters) FROM rowlock_lease WHERE name = 'a'"))
		require.NoError(t, f.Release(limited(t), g))
	})
}

// A dead waiter delays the others at most three times, by 50 ms each. When it has not confirmed for three seconds that
// it waits, it does not delay other waiters.
func TestMySQLADeadWaiterCostsItsReservation(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		dead, other := on(f.db), on(f.db)
		g := mustAcquire(t, f, request("a"))
		waits(t, dead, request("a"))
		dies(dead)
		_, stop := waits(t, other, request("a"))
		stop = sync.OnceFunc(stop)
		defer stop()
		require.NoError(t, f.Release(limited(t), g))
		began, kept := time.Now(), 0
		for ; f.int(t, "SELECT held_until > expires_at FROM rowlock_lease WHERE name = 'a'") == 1; kept++ {
			r := request("a")
			require.Eventually(t, func() bool {
				var err error
				g, err = f.Acquire(limited(t), r)
				return err == nil
			}, 10*time.Second, time.Millisecond)
			require.NoError(t, f.Release(limited(t), g))
		}
		t.Logf("kept %d times, for %s in all", kept, time.Since(began))
		assert.Positive(t, kept)
		assert.LessOrEqual(t, kept, 3)
		g = mustAcquire(t, f, request("a")) // no process is in the queue any longer
		assert.Zero(t, refusedAgain(t, other, request("a")).Ahead)
		stop()
		require.NoError(t, f.Release(limited(t), g))
		g = mustAcquire(t, f, request("a"))

		waits(t, dead, request("a"))
		dies(dead)
		f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) WHERE name = 'a'")
		require.NoError(t, f.Release(limited(t), g))
		g = mustAcquire(t, f, request("a"))
		waits(t, dead, request("a"))
		dies(dead)
		f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) WHERE name = 'a'")
		assert.Zero(t, refusedAgain(t, other, request("a")).Ahead, "one that was not seen is not next")
		require.NoError(t, f.Release(limited(t), g))
	})
}

// After a waiter has stopped waiting, no release reserves the lock for it, and an existing reservation for it ends.
func TestMySQLAWaiterThatGivesUpIsNotNext(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		waiter := on(f.db)
		for _, released := range []bool{false, true} {
			g := mustAcquire(t, f, request("a"))
			_, stop := waits(t, waiter, request("a"))
			if !released {
				stop()
			}
			require.NoError(t, f.Release(limited(t), g))
			if released {
				f.stretch(t)
				stop()
			}
			require.NoError(t, f.Release(limited(t), mustAcquire(t, f, request("a"))))
			assert.Empty(t, waiter.waiters.byKey)
		}
	})
}

// If a waiter stops waiting while the lock is reserved for it, the lock is reserved for the next process of the
// queue, and for no other process.
func TestMySQLAReservationIsLeftToTheNext(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		_, stopFirst := waits(t, on(f.db), request("a"))
		second, r := on(f.db), request("a")
		_, stopSecond := waits(t, second, r)
		defer stopSecond()
		f.seen(t)
		require.NoError(t, f.Release(limited(t), g))
		f.stretch(t)
		assert.Equal(t, driver.Reserved, refusedAgain(t, second, r).Reason)
		stopFirst()
		assert.Equal(t, driver.Reserved, refusedAgain(t, f.Backend, request("a")).Reason)
		r.Waiting = true
		mustAcquire(t, second, r)
	})
}

// If an operator force-releases an expired lease, the lock becomes free for all processes, without a reservation, as
// after an expiry without a hand-over delay.
func TestMySQLWhatHasExpiredIsKeptForNobody(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		r := request("a")
		r.HandoverDelay = time.Hour
		g := mustAcquire(t, f, r)
		_, stop := waits(t, on(f.db), request("a"))
		defer stop()
		f.Exec(t, "UPDATE rowlock_lease SET expires_at = UTC_TIMESTAMP(6) WHERE name = 'a'")
		require.NoError(t, f.ForceRelease(limited(t), g.Key, g.Token, false))
		mustAcquire(t, f, request("a"))
	})
}

// Waiters do not shorten a minimum hold, not even the first of the queue. A process that arrives during a minimum hold
// gets no reservation.
func TestMySQLAReservationDoesNotShortenAMinimumHold(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		r := request("a")
		r.MinHold = time.Hour
		g := mustAcquire(t, f, r)
		_, stop := waits(t, on(f.db), request("a"))
		defer stop()
		first := on(f.db)
		f.Exec(t, "UPDATE rowlock_lease SET waiters = NULL WHERE name = 'a'")
		_, stop = waits(t, first, request("a"))
		defer stop()
		require.NoError(t, f.Release(limited(t), g))
		for range 2 {
			held := refusedAgain(t, first, request("a"))
			assert.Equal(t, driver.MinHold, held.Reason)
			assert.InDelta(t, time.Hour, held.ExpiresIn, float64(time.Minute))
		}
	})
}
