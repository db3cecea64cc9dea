package advisory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// poolers lists the versions of PgBouncer that the tests use: the one that is installed on the machine,
// and a newer one.
var poolers = []string{testserver.PgBouncer, testserver.NewPgBouncer}

// eachPooler runs test behind each PgBouncer in session mode.
func eachPooler(t *testing.T, test func(t *testing.T, addr, direct string)) {
	t.Helper()
	t.Parallel()
	for _, engine := range poolers {
		t.Run(engine, func(t *testing.T) {
			testenv.Compat(t)
			t.Parallel()
			test(t, sessionPooler(t, engine), database(t))
		})
	}
}

// A backend behind a pooler in session mode refuses to lock unless SessionPooler is set. With SessionPooler,
// locks through the pooler and locks on direct connections exclude each other. A release leaves no lock on the server
// connection, which the pooler keeps for the next client.
func TestCompatSessionPooler(t *testing.T) {
	eachPooler(t, func(t *testing.T, addr, direct string) {
		pooled, w := by(t, addr, direct), watch(t, direct)
		unfit(t, advisory.New(openPool(t, pooled)), "goes through a pooler", "session mode with the option advisory.SessionPooler")
		assert.Zero(t, w.locks())

		b, straight := advisory.New(openPool(t, pooled), advisory.SessionPooler()), advisory.New(openPool(t, direct))
		g, other := acquire(t, b, "a"), acquire(t, b, "b")
		refused(t, straight, "a")
		outcomes, err := b.Renew(t.Context(), []driver.Grant{g, other})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
		require.NoError(t, b.Release(t.Context(), g))
		assert.Equal(t, 1, w.locks())
		next := acquire(t, straight, "a")
		assert.Greater(t, next.Token, g.Token)
		require.NoError(t, straight.Release(t.Context(), next))
		require.NoError(t, b.Release(t.Context(), other))
		assert.Zero(t, w.locks())
		acquire(t, straight, "c")
		refused(t, b, "c")
	})
}

// When the backend closes a session in an unknown state, a pooler in session mode releases the session's locks
// on the server too. The next client can then acquire all of them.
func TestCompatDoubtBehindASessionPooler(t *testing.T) {
	eachPooler(t, func(t *testing.T, addr, direct string) {
		dsn, proxy, err := through(by(t, addr, direct))
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		w := watch(t, direct)
		next := advisory.New(openPool(t, by(t, addr, direct)), advisory.SessionPooler())
		var b *advisory.Backend
		for doubt, cause := range map[string]func(first driver.Grant){
			"an unlock without an answer": func(first driver.Grant) {
				proxy.DropReplies(1, faultproxy.Hang)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				require.ErrorIs(t, b.Release(ctx, first), context.DeadlineExceeded)
				proxy.DropReplies(0, faultproxy.Hang) // stops dropping replies, in case the unlock's reply has not arrived yet
				proxy.Reset()                         // cuts the connection, so that the session ends before the TTL of its other lease
			},
			"an unlock that says no": func(first driver.Grant) {
				require.NoError(t, b.OnSession(t.Context(), fmt.Sprintf("SELECT pg_advisory_unlock(%d)", advisory.Key("", "a"))))
				require.ErrorIs(t, b.Release(t.Context(), first), driver.ErrNotHeld)
			},
			"a cut": func(driver.Grant) { proxy.Reset() },
		} {
			b = advisory.New(openPool(t, dsn), advisory.SessionPooler(), advisory.Sessions(1))
			first, second := acquire(t, b, "a"), acquire(t, b, "b")
			session := second.Session
			require.NoError(t, session.Err(), doubt)
			cause(first)
			<-session.Done()
			w.becomes(doubt+": nothing is locked", func() bool { return w.locks() == 0 })
			for _, name := range []string{"a", "b"} {
				require.NoError(t, next.Release(t.Context(), acquire(t, next, name)), doubt)
			}
			assert.Zero(t, w.locks(), doubt)
		}
	})
}

// If the server ends a session behind a pooler, the holder notices it long before the next heartbeat.
func TestCompatLossBehindASessionPooler(t *testing.T) {
	eachPooler(t, func(t *testing.T, addr, direct string) {
		l, w := locker(t, advisory.New(openPool(t, by(t, addr, direct)), advisory.SessionPooler())), watch(t, direct)
		lease, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		began := time.Now()
		w.terminate("a")
		lostWithin(t, lease, began, soon, rowlock.LostSession)
		again, err := l.Acquire(t.Context(), "a")
		require.NoError(t, err)
		assert.Greater(t, again.Token(), lease.Token())
		require.NoError(t, again.Release(t.Context()))
	})
}
