package advisory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// watched makes t parallel, and runs test with a pgx pool. In a test of "make compat", it runs test with pgx's driver for
// database/sql. In both cases, the backend notices the end of a connection between statements.
func watched(t *testing.T, test func(t *testing.T, open func(dsn string) *advisory.Backend)) {
	t.Helper()
	t.Parallel()
	if !inCompat(t) {
		t.Run("pgx", func(t *testing.T) {
			test(t, func(dsn string) *advisory.Backend { return advisory.New(openPool(t, dsn)) })
		})
		return
	}
	t.Run("stdlib", func(t *testing.T) {
		testenv.Compat(t)
		test(t, func(dsn string) *advisory.Backend { return advisory.NewDB(openDB(t, dsn)) })
	})
}

// A holder notices the end of its connection within 100 ms in at least half of the trials.
// Other trials may be slower, because the test shares its machine with other tests.
func TestLossIsNoticedWithin100ms(t *testing.T) {
	for _, way := range []string{"terminated", "cut"} {
		t.Run(way, func(t *testing.T) {
			direct := database(t)
			dsn, proxy, err := through(direct)
			require.NoError(t, err)
			t.Cleanup(proxy.Close)
			l, w := locker(t, advisory.New(openPool(t, dsn))), watch(t, direct)
			var took []time.Duration
			for range 9 {
				lease, err := l.Acquire(t.Context(), "a")
				require.NoError(t, err)
				began := time.Now()
				if way == "cut" {
					proxy.Reset()
				} else {
					w.number("SELECT count(pg_terminate_backend(pid))" + here)
				}
				<-lease.Context().Done()
				took = append(took, time.Since(began))
				require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
			}
			slices.Sort(took)
			assert.Less(t, took[0], 100*time.Millisecond, "the fastest: the next heartbeat comes much later")
			t.Logf("%s: %v", way, took)
		})
	}
}

// If the server terminates a session, the session's leases are lost long before the next heartbeat.
// The same locker can then acquire the name again.
func TestTerminatedBackend(t *testing.T) {
	watched(t, func(t *testing.T, open func(string) *advisory.Backend) {
		dsn := database(t)
		l, w := locker(t, open(dsn)), watch(t, dsn)
		first, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		second, err := l.Acquire(t.Context(), "b")
		require.NoError(t, err)
		began := time.Now()
		w.terminate("a")
		lostWithin(t, first, began, soon, rowlock.LostSession)
		lostWithin(t, second, began, soon, rowlock.LostSession)
		again, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		assert.Greater(t, again.Token(), second.Token())
		require.NoError(t, again.Release(t.Context()))
	})
}

// When a connection is reset, its leases are lost without waiting for a heartbeat.
func TestCutConnection(t *testing.T) {
	watched(t, func(t *testing.T, open func(string) *advisory.Backend) {
		dsn, proxy, err := through(database(t))
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		lease, err := locker(t, open(dsn)).Acquire(t.Context(), "a")
		require.NoError(t, err)
		began := time.Now()
		proxy.Reset()
		lostWithin(t, lease, began, soon, rowlock.LostSession)
	})
}

// If the network silently drops all packets, the holder stops trusting its lease within one TTL after the last
// successful renewal. Its calls return in time. When the network works again, the lock is free and can be acquired.
func TestBlackHole(t *testing.T) {
	watched(t, func(t *testing.T, open func(string) *advisory.Backend) {
		direct := database(t)
		dsn, proxy, err := through(direct)
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		const brief = 5 * time.Second
		l := locker(t, open(dsn), rowlock.TTL(brief))
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		proxy.Cut()
		cut := time.Now()
		_, err = l.TryAcquire(t.Context(), "b")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		lostWithin(t, lease, cut, brief+soon, rowlock.LostExpired)
		assert.LessOrEqual(t, lease.ExpiresAt().Sub(cut), brief, "no renewal was sent later, so trust has ended by then")
		refused(t, advisory.New(openPool(t, direct)), "a")
		proxy.Restore()
		again, err := l.Acquire(t.Context(), "a", rowlock.TTL(ttl)) // the TTL also limits how long an attempt may take
		require.NoError(t, err)
		require.NoError(t, again.Release(t.Context()))
	})
}

// If one reply to a renewal is lost, the lease is not lost before its deadline.
func TestALostReplyIsNoLoss(t *testing.T) {
	watched(t, func(t *testing.T, open func(string) *advisory.Backend) {
		dsn, proxy, err := through(database(t))
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		lease, err := locker(t, open(dsn)).Acquire(t.Context(), "a")
		require.NoError(t, err)
		proxy.DropReplies(1, faultproxy.Hang)
		ctx, cancel := context.WithTimeout(t.Context(), 2*closeLimit)
		defer cancel()
		require.ErrorIs(t, lease.Renew(ctx), rowlock.ErrUnknown)
		require.NoError(t, lease.Err())
		proxy.Reset()
		<-lease.Context().Done()
	})
}

const closeLimit = 250 * time.Millisecond

// When the server crashes or is restarted, its leases are lost at once. After the restart,
// the same locker can acquire locks again, with larger tokens.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	l := locker(t, advisory.New(openPool(t, server.DSN)))
	last := rowlock.Token(0)
	for way, end := range map[string]func() error{
		"killed":    func() error { server.Kill(); return nil },
		"shut down": server.Shutdown,
	} {
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		beside, err := l.Acquire(t.Context(), "b")
		require.NoError(t, err)
		assert.Greater(t, lease.Token(), last)
		last = lease.Token()
		began := time.Now()
		over := make(chan time.Duration, 1)
		stop := context.AfterFunc(lease.Context(), func() { over <- time.Since(began) })
		require.NoError(t, end(), way) // end returns when the server process has exited
		gone := time.Now()
		lostWithin(t, lease, gone, soon, rowlock.LostSession)
		lostWithin(t, beside, gone, soon, rowlock.LostSession)
		assert.False(t, stop())
		t.Logf("%s: the holder noticed after %s, the server had ended after %s", way, (<-over).Round(time.Millisecond), gone.Sub(began).Round(time.Millisecond))
		_, err = l.TryAcquire(t.Context(), "a")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		require.NoError(t, server.Restart(t.Context()))
	}
	lease, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	assert.Greater(t, lease.Token(), last)
	require.NoError(t, lease.Release(t.Context()))
}

// If the server ends an idle session (idle_session_timeout), the session's leases are lost at once.
// Heartbeats that are more frequent than that timeout keep the session. Servers before PostgreSQL 14 do not have
// the setting, and reject a connection that sets it.
func TestIdleSessionTimeout(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	if watch(t, dsn).number("SELECT current_setting('server_version_num')::int") < 140000 {
		_, err := advisory.New(openPool(t, dsn+"&idle_session_timeout=5s")).Acquire(t.Context(), request("a"))
		require.ErrorContains(t, err, "idle_session_timeout")
		lease, err := locker(t, advisory.New(openPool(t, dsn))).Acquire(t.Context(), "a")
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
		return
	}
	idle := openPool(t, dsn+"&idle_session_timeout=5s")
	began := time.Now()
	lease, err := locker(t, advisory.New(idle)).Acquire(t.Context(), "a")
	require.NoError(t, err)
	kept, err := locker(t, advisory.New(openPool(t, dsn+"&idle_session_timeout=5s")), rowlock.RenewEvery(20*time.Millisecond)).Acquire(t.Context(), "b")
	require.NoError(t, err)
	lostWithin(t, lease, began, soon, rowlock.LostSession)
	assert.GreaterOrEqual(t, time.Since(began), 5*time.Second)
	require.NoError(t, kept.Err())
	require.NoError(t, kept.Release(t.Context()))
}

// With a driver that does not expose the socket, the next heartbeat notices the end of the connection.
func TestAnotherDriverLearnsByHeartbeat(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	b, closePool, err := openSQL(otherdriver.Name)(dsn)
	require.NoError(t, err)
	defer closePool()
	lease, err := locker(t, b, rowlock.RenewEvery(50*time.Millisecond)).Acquire(t.Context(), "a")
	require.NoError(t, err)
	began := time.Now()
	w.terminate("a")
	lostWithin(t, lease, began, soon, anyReason)
}

// A heartbeat checks that the session still holds each lock, not only that the session lives. If a lock is missing,
// the session is closed, and all its leases are lost.
func TestHeartbeatProvesOwnership(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	b := advisory.New(openPool(t, dsn))
	l := locker(t, b)
	taken, err := l.Acquire(t.Context(), "a")
	require.NoError(t, err)
	other, err := l.Acquire(t.Context(), "b")
	require.NoError(t, err)
	require.NoError(t, b.OnSession(t.Context(), "SELECT pg_advisory_unlock_all()"))
	next := advisory.New(openPool(t, dsn))
	for _, name := range []string{"a", "b"} {
		acquire(t, next, name)
	}
	require.NoError(t, other.Err(), "no heartbeat has been sent yet")
	require.ErrorIs(t, taken.Renew(t.Context()), rowlock.ErrLost)
	<-other.Context().Done()
	require.ErrorIs(t, other.Err(), rowlock.ErrLost)
	w := watch(t, dsn)
	w.becomes("the two locks of the other session are left", func() bool { return w.locks() == 2 && w.sessions() == 1 })
}
