package mysqlock

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// A thousand locks that are requested concurrently are held on at most four connections,
// and are renewed with one call. After the last release, no connection is borrowed and the server holds no lock.
func TestAThousandNamesOnFourConnections(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		const names, askers = 1000, 20
		b := New(s.open(t, func(c *mysqldriver.Config) { c.InterpolateParams = true }))
		b.db.SetMaxOpenConns(30)
		grants := make([]driver.Grant, names)
		errs := make(chan error, askers)
		for i := range askers {
			go func() {
				var err error
				for n := i; n < names && err == nil; n += askers {
					grants[n], err = b.Acquire(limited(t), request(fmt.Sprint(n)))
				}
				errs <- err
			}()
		}
		for range askers {
			require.NoError(t, <-errs)
		}
		most := len(b.locks.Sessions())
		assert.LessOrEqual(t, most, 4)
		var holders int
		require.NoError(t, s.raw.QueryRow("SELECT COUNT(DISTINCT IS_USED_LOCK(CONCAT('rowlock:', LEFT(SHA2(CONCAT(DATABASE(), 0x00, namespace, 0x00, name), 256), 56)))) "+
			"FROM rowlock_lease_counter").Scan(&holders))
		assert.Equal(t, most, holders, "according to a second session")
		outcomes, err := b.Renew(limited(t), grants)
		require.NoError(t, err)
		for i, o := range outcomes {
			require.Equal(t, driver.Renewed, o, i)
		}
		for _, g := range grants {
			require.NoError(t, b.Release(limited(t), g))
		}
		idle(t, b)
		for _, name := range []string{"0", "1", "500", "999"} {
			assert.Zero(t, s.holds(t, name))
		}
	})
}

// If the context of a release ends, the backend still unlocks, or closes the connection. So a connection in the pool
// never holds a lock. The test checks that from a second session, and on the connection itself.
func TestAConnectionNeverComesBackHolding(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		db.SetMaxOpenConns(4)
		b := New(db)
		l := locker(t, b)
		for i := range 20 {
			lease := acquire(t, l, "a")
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				cancel()
			}
			require.NoError(t, lease.Release(ctx))
			cancel()
			require.Zero(t, s.holds(t, "a"))
		}
		for range 5 { // calls the backend directly, with a context that ends while the statement runs
			g := grant(t, b, "b")
			proxy.Delay(20 * time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			onceSent(t, proxy, cancel)
			err := b.Release(ctx, g)
			cancel()
			if err != nil { // the server did not answer within the time that a statement may continue
				require.ErrorIs(t, err, context.Canceled)
			}
			proxy.Delay(0)
			becomes(t, "the lock is free", func() bool { return s.holds(t, "b") == 0 })
			if err := b.Release(limited(t), g); err != nil { // the server did not answer the first release in time, so the connection was closed
				require.ErrorContains(t, err, "the server releases the lock when it closes the connection")
			}
		}
		idle(t, b)
		for range 4 {
			c, err := db.Conn(limited(t))
			require.NoError(t, err)
			defer c.Close()
			var all sql.NullInt64
			require.NoError(t, c.QueryRowContext(limited(t), "SELECT RELEASE_ALL_LOCKS()").Scan(&all))
			require.Zero(t, all.Int64)
		}
	})
}

// The statement that acquires the lock and makes the token acquires the lock only once, so one release frees it.
func TestOneReleaseFrees(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := oneSession(s.open(t))
		keep := grant(t, b, "keep") // keeps the session open; otherwise its end would also release a lock that was acquired twice
		id := s.holds(t, "keep")
		for range 3 {
			g := grant(t, b, "a")
			require.Equal(t, id, s.holds(t, "a"))
			require.NoError(t, b.Release(limited(t), g))
			require.Zero(t, s.holds(t, "a"))
		}
		require.NoError(t, b.Release(limited(t), keep))
		require.Zero(t, s.holds(t, "keep"))
		idle(t, b)
	})
}

// A request with another nonce for a lock that this backend holds is refused without a request to the server,
// because the server would grant the lock to the same session a second time.
func TestReentrancyNeverGrantsTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t), Sessions(1))
		r := request("a")
		g, err := b.Acquire(limited(t), r)
		require.NoError(t, err)
		_, err = b.Acquire(limited(t), request("a"))
		held := refused(t, err)
		assert.Equal(t, "tester", held.Holder)
		assert.Equal(t, g.Token, held.Token)
		again, err := b.Acquire(limited(t), r)
		require.NoError(t, err)
		assert.Equal(t, g, again)
		require.NoError(t, b.Release(limited(t), g))
		require.Zero(t, s.holds(t, "a"), "the lock was acquired only once")
	})
}

// If a call is cancelled, its statement continues until the server has answered.
// So the other locks on the same connection are not lost.
func TestACancelledCallHarmsNoOtherLock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		b := New(db, Sessions(1))
		lease := acquire(t, locker(t, b), "a")
		id := s.holds(t, "a")
		proxy.DelayReplies(2 * time.Second)
		r := request("b")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		onceSent(t, proxy, cancel)
		_, err := b.Acquire(ctx, r)
		require.ErrorIs(t, err, context.Canceled)
		proxy.Delay(0) // the reply to the acquire is still delayed
		assert.False(t, driver.IsNotApplied(err), "the lock may still be granted")
		require.NoError(t, b.Release(limited(t), driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL}), "the engine releases by nonce")
		require.NoError(t, lease.Renew(t.Context()))
		assert.Equal(t, id, s.holds(t, "a"))
		assert.Zero(t, s.holds(t, "b"))
		require.NoError(t, lease.Release(t.Context()))
		idle(t, b)
	})
}

// If another transaction, such as a backup, locks the rows of the mint and of a grant, locks are granted and renewed. A
// grant then waits for its row for a second at most. Only a request for which no token is reserved fails.
func TestLockedRowsStopNoLock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := oneSession(s.open(t)) // a second session would have tokens of its own
		g := grant(t, b, "a")
		require.NoError(t, b.Release(limited(t), grant(t, b, "b")))
		// Tests that run at the same time use numbers of UUID_SHORT, too.
		_, err := s.raw.Exec("UPDATE rowlock_lease_mint SET reserved = reserved + 1000000000")
		require.NoError(t, err)
		b.locks.Sessions()[0].(*session).mint.reserved += 1000000000
		tx, err := s.raw.BeginTx(limited(t), nil)
		require.NoError(t, err)
		for _, table := range []string{"rowlock_lease_mint", "rowlock_lease_counter"} {
			_, err = tx.Exec("SELECT * FROM " + table + " FOR UPDATE")
			require.NoError(t, err)
		}
		began := time.Now()
		second := grant(t, b, "b")
		assert.Greater(t, second.Token, g.Token)
		assert.Greater(t, grant(t, New(s.open(t)), "c").Token, second.Token)
		b.locks.Sessions()[0].(*session).mint.reserved = 0
		_, err = b.Acquire(limited(t), request("d"))
		require.True(t, driver.IsNotApplied(err), err)
		assert.Zero(t, s.holds(t, "d"))
		outcomes, err := b.Renew(limited(t), []driver.Grant{g, second})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
		assert.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, tx.Rollback())
		require.NoError(t, b.Release(limited(t), second))
		require.NoError(t, b.Release(limited(t), g))
		idle(t, b)
	})
}

// A pool of one connection can hold several locks with tokens.
func TestAPoolOfOneConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db := s.open(t)
		db.SetMaxOpenConns(1)
		b := New(db)
		first, second := grant(t, b, "a"), grant(t, b, "b")
		assert.Positive(t, first.Token)
		assert.Positive(t, second.Token)
		require.NoError(t, b.Release(limited(t), first))
		require.NoError(t, b.Release(limited(t), second))
		idle(t, b)
	})
}

// A backend with NoToken needs no table. Its locks and locks with tokens exclude each other.
// Inspect returns the connection that holds such a lock.
func TestNoToken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		_, err := s.raw.Exec("DROP TABLE rowlock_lease_counter, rowlock_lease_mint")
		require.NoError(t, err)
		b := oneSession(s.open(t), NoToken())
		l := locker(t, b)
		first, second := acquire(t, l, "a"), acquire(t, l, "b")
		assert.Zero(t, first.Token())
		require.NoError(t, first.Renew(t.Context()))
		other := New(s.open(t), NoToken())
		_, err = other.Acquire(limited(t), request("a"))
		held := refused(t, err)
		assert.Regexp(t, fmt.Sprintf("^connection %d of root from ", s.holds(t, "a")), held.Holder)
		status, err := other.Inspect(limited(t), driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, status.State)
		assert.Equal(t, held.Holder, status.Holder)
		list, err := b.List(limited(t), "", true)
		require.NoError(t, err)
		assert.Len(t, list, 2)
		require.NoError(t, other.ForceRelease(limited(t), driver.Key{Name: "a"}, 0, true))
		lost(t, second, soon, rowlock.LostSession)

		_, err = New(s.open(t)).Acquire(limited(t), request("c"))
		require.ErrorContains(t, err, "run `rowlock migrate up`")
		assert.True(t, driver.IsPermanent(err))
		var missing *SchemaError
		require.ErrorAs(t, err, &missing)
		assert.Equal(t, "rowlock_lease_mint", missing.Table)
		require.Zero(t, s.holds(t, "c"))
	})
}

// Promise: an acquire soon after a release uses the same connection. If that connection has ended meanwhile, the acquire
// uses another one, and returns no error.
func TestAnIdleConnectionIsUsedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := oneSession(s.open(t))
		b.locks.Linger = 10 * time.Second
		holder := func() int64 {
			g := grant(t, b, "a")
			id := s.holds(t, "a")
			require.NoError(t, b.Release(limited(t), g))
			return id
		}
		first := holder()
		require.Equal(t, first, holder())
		_, err := s.raw.Exec(fmt.Sprintf("KILL CONNECTION %d", first))
		require.NoError(t, err)
		becomes(t, "the connection has ended", func() bool {
			return !slices.ContainsFunc(testenv.Sessions(t, s.raw), func(other testenv.Session) bool { return other.ID == first })
		})
		b.locks.Linger = time.Millisecond // the rest of the test does not wait for the end of an idle session
		require.NotEqual(t, first, holder())
		idle(t, b)
	})
}
