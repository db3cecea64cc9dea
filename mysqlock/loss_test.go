package mysqlock

import (
	"context"
	"database/sql"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testserver"
)

// answerLimit is how long a statement may continue when its caller has given up.
const answerLimit = 250 * time.Millisecond

// When a connection is killed, its leases are lost long before the next heartbeat.
// The same locker can then acquire the name again, with a larger token.
func TestKill(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		l := locker(t, oneSession(s.open(t)))
		first, second := acquire(t, l, "a"), acquire(t, l, "b")
		require.NoError(t, s.kill(driver.Key{Name: "a"}))
		lost(t, first, soon, rowlock.LostSession)
		lost(t, second, soon, rowlock.LostSession)
		again := acquire(t, l, "a")
		assert.Greater(t, again.Token(), first.Token())
		require.NoError(t, again.Release(t.Context()))
	})
}

// When a connection is reset, its leases are lost long before the next heartbeat.
func TestCutConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		lease := acquire(t, locker(t, New(db)), "a")
		proxy.Reset()
		lost(t, lease, soon, rowlock.LostSession)
	})
}

// If the server ends an idle session (wait_timeout), the session's leases are lost long before the next heartbeat.
// Heartbeats that are more frequent than that timeout keep the session.
func TestWaitTimeout(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		impatient := func(c *mysqldriver.Config) { c.Params = map[string]string{"wait_timeout": "4"} }
		lease := acquire(t, locker(t, New(s.open(t, impatient))), "a")
		kept := acquire(t, locker(t, New(s.open(t, impatient)), rowlock.RenewEvery(100*time.Millisecond)), "b")
		lost(t, lease, 20*time.Second, rowlock.LostSession)
		require.NoError(t, kept.Err())
		require.NoError(t, kept.Release(t.Context()))
	})
}

// If the network silently drops all packets, the holder stops trusting its lease within one TTL after the last
// successful renewal. At that time, the server still refuses the lock to other processes. The calls of the
// disconnected process return in time. When the network works again, the lock is free and can be acquired.
func TestBlackHole(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		const brief = 5 * time.Second
		l := locker(t, New(db), rowlock.TTL(brief))
		lease := acquire(t, l, "a")
		proxy.Cut()
		cut := time.Now()
		_, err := l.TryAcquire(t.Context(), "b")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		lost(t, lease, brief+soon, rowlock.LostExpired)
		assert.LessOrEqual(t, lease.ExpiresAt().Sub(cut), brief, "no renewal was sent later, so trust has ended by then")
		_, err = New(s.open(t)).Acquire(limited(t), request("a"))
		refused(t, err)
		proxy.Restore()
		again, err := l.Acquire(t.Context(), "a", rowlock.TTL(ttl)) // the TTL also limits how long an attempt may take
		require.NoError(t, err)
		require.NoError(t, again.Release(t.Context()))
	})
}

// If the reply to a renewal is lost, the outcome of the renewal is unknown, and the lease is not lost.
func TestALostReplyIsNoLoss(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t)
		lease := acquire(t, locker(t, New(db)), "a")
		proxy.DropReplies(1, faultproxy.Hang)
		ctx, cancel := context.WithTimeout(t.Context(), 2*answerLimit)
		defer cancel()
		require.ErrorIs(t, lease.Renew(ctx), rowlock.ErrUnknown)
		require.NoError(t, lease.Err())
	})
}

// A heartbeat checks that the session still holds each lock, not only that the session lives. If a lock is missing,
// the session is closed, and all its leases are lost.
func TestHeartbeatProvesOwnership(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := oneSession(s.open(t))
		l := locker(t, b)
		taken, other := acquire(t, l, "a"), acquire(t, l, "b")
		s.unlock(t, b, "a")
		grant(t, New(s.open(t)), "a")
		require.NoError(t, taken.Err(), "no heartbeat has been sent yet")
		require.ErrorIs(t, taken.Renew(t.Context()), rowlock.ErrLost)
		lost(t, other, soon, rowlock.LostSession)
		becomes(t, "the server releases the lock", func() bool { return s.holds(t, "b") == 0 })
		idle(t, b)
	})
}

func onOwn(t *testing.T, test func(t *testing.T, server *testserver.Server)) {
	t.Helper()
	t.Parallel()
	for _, engine := range []string{testserver.MySQL, testserver.MariaDB} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, own(t, engine))
		})
	}
}

// When the server crashes or is restarted, its leases are lost at once. After the restart,
// the same locker can acquire locks again, with larger tokens.
func TestRestartedServer(t *testing.T) {
	onOwn(t, func(t *testing.T, server *testserver.Server) {
		b := New(openDB(t, server.DSN))
		l, last := locker(t, b), rowlock.Token(0)
		for way, end := range map[string]func() error{
			"killed":    func() error { server.Kill(); return nil },
			"shut down": server.Shutdown,
		} {
			lease, beside := acquire(t, l, "a"), acquire(t, l, "b")
			assert.Greater(t, lease.Token(), last)
			last = lease.Token()
			began := time.Now()
			over := make(chan time.Duration, 1)
			stop := context.AfterFunc(lease.Context(), func() { over <- time.Since(began) })
			require.NoError(t, end(), way) // end returns when the server process has exited
			gone := time.Since(began)
			lost(t, lease, 10*time.Second, rowlock.LostSession)
			lost(t, beside, 10*time.Second, rowlock.LostSession)
			assert.False(t, stop())
			t.Logf("%s: the holder noticed after %s, the server had ended after %s", way, (<-over).Round(time.Millisecond), gone.Round(time.Millisecond))
			_, err := l.TryAcquire(t.Context(), "a")
			require.ErrorIs(t, err, rowlock.ErrUnavailable)
			require.NoError(t, server.Restart(t.Context()))
		}
		again := acquire(t, l, "a")
		assert.Greater(t, again.Token(), last)
		require.NoError(t, again.Release(t.Context()))
		idle(t, b)
	})
}

// A backend refuses to lock on a read-only server, such as a demoted primary, with an error that says what to do. If a
// server becomes read-only, its leases are lost at the next heartbeat, because another server may now grant the same
// names. The same is true if the backend connects as a superuser, although a superuser may write to a read-only
// server.
func TestReadOnlyServer(t *testing.T) {
	onOwn(t, func(t *testing.T, server *testserver.Server) {
		db := openDB(t, server.DSN)
		set := func(value string) {
			_, err := db.ExecContext(limited(t), "SET GLOBAL read_only = "+value)
			require.NoError(t, err)
		}
		t.Cleanup(func() { set("OFF") })
		b, noTokens := oneSession(openDB(t, server.DSN)), New(openDB(t, server.DSN), NoToken())
		l := locker(t, b)
		held, other := acquire(t, l, "a"), acquire(t, l, "b")
		set("ON")
		for _, b := range []*Backend{b, noTokens} {
			_, err := b.Acquire(limited(t), request("c"))
			require.ErrorContains(t, err, "use a DSN that leads to the primary")
			assert.True(t, driver.IsPermanent(err))
		}
		becomes(t, "the attempt has noticed that the server is read-only", func() bool { return held.Err() != nil && other.Err() != nil })

		set("OFF")
		held = acquire(t, l, "a")
		set("ON")
		require.ErrorIs(t, held.Renew(t.Context()), rowlock.ErrLost)
		becomes(t, "the demoted server releases the lock", func() bool {
			var holder sql.NullInt64
			require.NoError(t, db.QueryRow("SELECT IS_USED_LOCK(?)", LockName("rowlock", "", "a")).Scan(&holder))
			return !holder.Valid
		})
		idle(t, b)
	})
}
