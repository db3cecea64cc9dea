package mysqlock

import (
	"context"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
)

// A waiter in the server's queue gets the lock as soon as the holder releases it. This also holds if the waiter has
// waited for longer than one wait on the server lasts. The backend then uses the waiter's connection for other locks too.
func TestQueue(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		a, b := New(s.open(t)), oneSession(db)
		g := grant(t, a, "a")
		r := request("a")
		r.TTL = 5 * time.Second
		got, failed := s.waitFor(t, limited(t), b, r)
		before := proxy.Sent()
		becomes(t, "its first wait has timed out", func() bool { return proxy.Sent() > before })
		becomes(t, "its second wait has begun", s.hasWaiter(t))
		require.Empty(t, got, "granted while the first holder has it")
		require.Empty(t, failed)
		require.NoError(t, a.Release(limited(t), g))
		next := contest.Granted(t, got, failed)
		assert.Greater(t, next.Token, g.Token)
		second := grant(t, b, "b")
		assert.Equal(t, s.holds(t, "a"), s.holds(t, "b"), "on the waiter's connection")
		outcomes, err := b.Renew(limited(t), []driver.Grant{next, second})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
		require.NoError(t, b.Release(limited(t), next))
		require.NoError(t, b.Release(limited(t), second))
		idle(t, a)
		idle(t, b)
	})
}

// A waiter locks no rows, neither of the mint nor of the grants.
func TestAWaiterLocksNoRow(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b := New(s.open(t)), New(s.open(t))
		g := grant(t, a, "a")
		got, failed := s.waitFor(t, limited(t), b, request("a"))
		tx, err := s.raw.BeginTx(limited(t), nil)
		require.NoError(t, err)
		for _, table := range []string{"rowlock_lease_mint", "rowlock_lease_counter"} {
			_, err = tx.ExecContext(limited(t), "SELECT * FROM "+table+" FOR UPDATE NOWAIT")
			require.NoError(t, err, table)
		}
		require.NoError(t, tx.Rollback())
		require.NoError(t, a.Release(limited(t), g))
		next := contest.Granted(t, got, failed)
		assert.Greater(t, next.Token, g.Token)
		require.NoError(t, b.Release(limited(t), next))
	})
}

// If a wait is cancelled, it returns a refusal that names the holder, and the backend closes the connection. The server
// notices that within a second, although the wait would last for longer. If it has granted the lock to the closed
// connection before, it then releases the lock.
func TestACancelledWait(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b := New(s.open(t)), New(s.open(t))
		g := grant(t, a, "a")
		ctx, cancel := context.WithCancel(t.Context())
		_, failed := s.waitFor(t, ctx, b, request("a"))
		began := time.Now()
		cancel()
		held := refused(t, <-failed)
		assert.Less(t, time.Since(began), soon, "much less than the wait would last")
		assert.Equal(t, "tester", held.Holder)
		assert.Equal(t, g.Token, held.Token)
		idle(t, b)
		becomes(t, "the server has removed the waiter", func() bool { return !s.hasWaiter(t)() })
		assert.Less(t, time.Since(began), serverWait(ttl, longestWait))
		require.NoError(t, a.Release(limited(t), g))
		becomes(t, "the server has noticed", func() bool { return s.holds(t, "a") == 0 })
		require.NoError(t, a.Release(limited(t), grant(t, a, "a")))
	})
}

// If the same backend holds the lock, a waiter waits in this process and sends no request.
// The server would grant the lock to the same session a second time.
func TestWaitingForOneself(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t), Sessions(1))
		g := grant(t, b, "a")
		got := make(chan error, 1)
		go func() {
			next, err := contest.Wait(limited(t), b, request("a"))
			if err == nil {
				err = b.Release(limited(t), next)
			}
			got <- err
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := contest.Wait(ctx, b, request("a"))
		assert.Equal(t, g.Token, refused(t, err).Token)
		require.NoError(t, b.Release(limited(t), g))
		require.NoError(t, <-got)
		idle(t, b)
	})
}

// At most half of the backend's connections are used for waiting. The other connections can acquire and renew locks
// meanwhile. A waiter for which no connection is left is refused at once, and polls.
func TestWaitersAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b := New(s.open(t)), New(s.open(t), Sessions(2))
		g := grant(t, a, "a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, failed := s.waitFor(t, ctx, b, request("a"))
		began := time.Now()
		_, err := contest.Wait(limited(t), b, request("a"))
		refused(t, err)
		assert.Less(t, time.Since(began), soon, "the refused call does not wait")
		require.NoError(t, b.Release(limited(t), grant(t, b, "b")))
		cancel()
		refused(t, <-failed)
		require.NoError(t, a.Release(limited(t), g))
		idle(t, b)
	})
}

// A backend with one connection lets a waiter wait on it. If another request needs the connection, the wait ends, and the
// waiter is refused and polls.
func TestTheOnlyConnectionWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b := New(s.open(t)), New(s.open(t), Sessions(1))
		g := grant(t, a, "a")
		_, failed := s.waitFor(t, limited(t), b, request("a"))
		began := time.Now()
		other := grant(t, b, "b")
		refused(t, <-failed)
		assert.Less(t, time.Since(began), serverWait(ttl, longestWait))
		_, err := contest.Wait(limited(t), b, request("a"))
		refused(t, err)
		require.NoError(t, b.Release(limited(t), other))
		got, failed := s.waitFor(t, limited(t), b, request("a"))
		require.NoError(t, a.Release(limited(t), g))
		require.NoError(t, b.Release(limited(t), contest.Granted(t, got, failed)))
		idle(t, b)
	})
}

// If the server cancels a wait because a statement takes too long, the waiter waits again.
func TestAWaitThatTakesTooLong(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		setting := map[string]string{"max_execution_time": "3000"}
		if s.mariadb {
			setting = map[string]string{"max_statement_time": "3"}
		}
		db, proxy := s.through(t, func(c *mysqldriver.Config) { c.Params = setting })
		a, b := New(s.open(t)), New(db)
		g := grant(t, a, "a")
		got, failed := s.waitFor(t, limited(t), b, request("a"))
		before := proxy.Sent()
		becomes(t, "its first wait was cancelled", func() bool { return proxy.Sent() > before })
		becomes(t, "its second wait has begun", s.hasWaiter(t))
		require.NoError(t, a.Release(limited(t), g))
		require.NoError(t, b.Release(limited(t), contest.Granted(t, got, failed)))
		idle(t, b)
	})
}

// A wait on the server is shorter than the TTL and than the time limit of the driver, and lasts a whole number of seconds.
func TestServerWait(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Second, 2 * time.Second: time.Second, 10 * time.Second: 8 * time.Second,
		30 * time.Second: 25 * time.Second, time.Hour: 25 * time.Second,
	} {
		assert.Equal(t, want, serverWait(limit, longestWait), "TTL %s", limit)
	}
	for dsn, want := range map[string]time.Duration{
		"u@tcp(h)/d": 25 * time.Second, "u@tcp(h)/d?readTimeout=30s": 25 * time.Second, "u@tcp(h)/d?readTimeout=6s": 5 * time.Second,
	} {
		assert.Equal(t, want, serverWait(ttl, longestWaitOn(openDB(t, dsn))), dsn)
	}
}

// If the server stops answering, a waiter gives up one TTL after the start of its wait. Its error is not a refusal.
func TestAWaitForASilentServer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		a, b := New(s.open(t)), New(db)
		g := grant(t, a, "a")
		r := request("a")
		r.TTL = 5 * time.Second
		_, failed := s.waitFor(t, limited(t), b, r)
		proxy.Cut()
		err := <-failed
		var held *driver.Held
		require.NotErrorAs(t, err, &held)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, a.Release(limited(t), g))
		idle(t, b)
	})
}
