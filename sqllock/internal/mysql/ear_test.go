package mysql

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A release, a forced release, and a waiter that leaves its reservation to the next process, each wake the process for
// which they reserve the lock, and no other process.
func TestMySQLAReleaseWakesTheFirst(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		first, second := f.listens(t, on(f.db), request("a")), f.listens(t, on(f.db), request("a"))
		assert.True(t, first.Capabilities().Wakes)
		f.watchesNothing(t, f.Backend, first.Backend, second.Backend)
		require.NoError(t, f.Release(limited(t), g))
		first.isWoken(t)
		f.stretch(t)
		first.stop()
		second.isWoken(t)
		second.request.Waiting = true
		g = mustAcquire(t, second, second.request)

		first = f.listens(t, on(f.db), request("a"))
		require.NoError(t, f.ForceRelease(limited(t), g.Key, g.Token, true))
		first.isWoken(t)
		assert.Empty(t, second.woken)
	})
}

// The release of the last share wakes the first process of the queue. The release of another share wakes no process.
// A process that was granted a share after a wait wakes the next process.
func TestMySQLTheLastShareWakesTheFirst(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		one, two := mustAcquire(t, f, reading("a")), mustAcquire(t, f, reading("a"))
		f.watchesNothing(t, f.Backend)
		writer := request("a")
		writer.Waits = true // so that readers who come later wait
		first := f.listens(t, on(f.db), writer)
		f.Exec(t, "UPDATE rowlock_lease SET writer_until = writer_until + INTERVAL 1 HOUR")
		second, third := f.listens(t, on(f.db), reading("a")), f.listens(t, on(f.db), reading("a"))
		require.NoError(t, f.Release(limited(t), one))
		require.NoError(t, f.Release(limited(t), two))
		first.isWoken(t)
		first.request.Waiting = true
		g := mustAcquire(t, first, first.request)
		assert.Empty(t, first.woken)
		second.again(t, f) // it joins the queue only now, because no release of a share serves a reader
		third.again(t, f)
		require.NoError(t, first.Release(limited(t), g))
		second.isWoken(t)
		f.stretch(t)
		second.request.Waiting = true
		mustAcquire(t, second, second.request)
		third.isWoken(t)
	})
}

// The waiters of a process with a pool of one or two connections are woken, because the ear's connection is not one of
// the pool's. The pool has no connection in use while they wait.
func TestMySQLTheEarNeedsNoConnectionOfThePool(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for most := range 2 {
			db := f.open(t, nil)
			db.SetMaxOpenConns(most + 1)
			r := request(fmt.Sprint("a", most))
			g := mustAcquire(t, f, r)
			r.Nonce = driver.NewNonce()
			first := f.listens(t, on(db), r)
			assert.Zero(t, db.Stats().InUse)
			require.NoError(t, f.Release(limited(t), g))
			first.isWoken(t)
		}
	})
}

// If the ear's connection is killed, the ear opens another connection. It then wakes the waiters, because calls may have
// been lost, and hears the next release.
func TestMySQLAnEarIsReplaced(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		first := f.listens(t, on(f.db), request("a"))
		f.Exec(t, fmt.Sprintf("KILL CONNECTION IS_USED_LOCK('%s')", first.waiters.ear.lock))
		first.isWoken(t)
		first.again(t, f)
		assert.True(t, first.Capabilities().Wakes)
		require.NoError(t, f.Release(limited(t), g))
		first.isWoken(t)
	})
}

// If the call of a release is lost, the reservation of the waiter remains, and its next poll is granted the lock. If
// several calls in a row are lost, the backend says that releases do not wake waiters, so that the engine polls more
// often. The next call that is not lost ends this.
func TestMySQLALostCallCostsAPoll(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		b := on(f.db)
		for n := range mostMissed {
			assert.True(t, b.Capabilities().Wakes, n)
			g := mustAcquire(t, f, request("a"))
			first := f.listens(t, b, request("a"))
			refusedAgain(t, b, first.request) // the wake-up of a new connection is not a call
			dies(b)
			require.NoError(t, f.Release(limited(t), g))
			f.stretch(t)
			first.request.Waiting = true
			require.NoError(t, b.Release(limited(t), mustAcquire(t, b, first.request)))
			first.stop()
		}
		assert.False(t, b.Capabilities().Wakes)
		g := mustAcquire(t, f, request("a"))
		first := f.listens(t, b, request("a"))
		require.NoError(t, f.Release(limited(t), g))
		first.isWoken(t)
		f.stretch(t)
		first.request.Waiting = true
		mustAcquire(t, b, first.request)
		assert.True(t, b.Capabilities().Wakes)
	})
}

// If the releasing process connects as another database user, who may not end the ear's statement, the waiter polls,
// and the releasing backend has a warning. With the privilege, that process wakes the waiter.
func TestMySQLAnotherUserMayNotWake(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		db := f.as(t, "SELECT, INSERT, UPDATE")
		other := on(db)
		g := mustAcquire(t, other, request("a"))
		assert.NotContains(t, fmt.Sprint(other.Capabilities().Warnings), "database user")
		first := f.listens(t, on(f.db), request("a"))
		require.NoError(t, other.Release(limited(t), g))
		assert.Contains(t, fmt.Sprint(other.Capabilities().Warnings), "database user")
		f.stretch(t)
		first.request.Waiting = true
		require.NoError(t, first.Release(limited(t), mustAcquire(t, first, first.request)))
		assert.Empty(t, first.woken)

		g = mustAcquire(t, other, request("a"))
		waiter := f.listens(t, on(db), request("a"))
		require.NoError(t, other.Release(limited(t), g))
		waiter.isWoken(t)
	})
}

// A call ends the statement of no other session: it finds the ear by its lock, and does nothing if there is none. The
// connection of an ear runs only sleeps, so a call that comes between two of them has no effect.
func TestMySQLACallConcernsOnlyTheEar(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		s, err := f.server(limited(t))
		require.NoError(t, err)
		require.Error(t, s.call(limited(t), 1))
		assert.False(t, s.forbidden.Load())

		conn, err := f.db.Conn(limited(t))
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(limited(t), "DO GET_LOCK('rowlock-ear 00000000000f', 0)")
		require.NoError(t, err)
		require.NoError(t, s.call(limited(t), 15))
		_, err = conn.ExecContext(limited(t), "DO SLEEP(0)")
		require.NoError(t, err)
		_, err = conn.ExecContext(limited(t), "DO RELEASE_LOCK('rowlock-ear 00000000000f')")
		require.NoError(t, err)
	})
}

// The ear's connection is closed when no caller waits any longer, and the server notices that soon. A new waiter opens
// a new connection.
func TestMySQLAnEarEnds(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		mustAcquire(t, f, request("a"))
		db := f.open(t, nil)
		b := on(db)
		for n := range 2 {
			b.waiters.ear.sleep = 2 * time.Second // MariaDB notices the end of the connection only after the sleep
			l := f.listens(t, b, request("a"))
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			b.CloseIdle(ctx) // does not end an ear that has waiters
			cancel()
			assert.NotNil(t, b.waiters.ear.end)
			l.stop()
			if n == 1 {
				require.NoError(t, db.Close()) // the ear then cannot end its own sleep
			}
			b.CloseIdle(limited(t))
			assert.Nil(t, b.waiters.ear.end)
			require.Eventually(t, func() bool {
				return f.int(t, "SELECT COALESCE(IS_USED_LOCK(?), 0)", b.waiters.ear.lock) == 0
			}, 20*time.Second, time.Millisecond)
		}
	})
}

// If the application's readTimeout is shorter than a sleep, the ear sleeps for half of that time, so that its
// connection does not time out.
func TestMySQLAnEarSleepsLessThanReadTimeout(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		b := on(f.open(t, map[string]string{"readTimeout": "6s"}))
		l := f.listens(t, b, request("a"))
		assert.Equal(t, 3*time.Second, b.waiters.ear.sleep)
		id := f.int(t, "SELECT IS_USED_LOCK(?)", b.waiters.ear.lock)
		require.Never(t, func() bool { return f.int(t, "SELECT COALESCE(IS_USED_LOCK(?), 0)", b.waiters.ear.lock) != id }, 8*time.Second, 50*time.Millisecond)
		l.again(t, f)
		require.NoError(t, f.Release(limited(t), g))
		l.isWoken(t)
	})
}
