package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// startClocked starts a server whose wall clock can be set.
func startClocked(tb testing.TB) *testserver.Server {
	tb.Helper()
	testenv.DSN(tb, testenv.EngineRedis)
	s, err := testserver.Start(tb.Context(), testserver.Redis, testserver.Options{Clock: true})
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// If the server's clock is set forward, leases end early. A second holder is granted the name, with a larger token,
// while the first holder still trusts its lease. Fenced data reject the first holder's writes.
func TestServerClockSetForward(t *testing.T) {
	t.Parallel()
	s := startClocked(t)
	c := redistest.Connect(t, s.Addr)
	guard := fenced(t)
	first, err := redistest.LockerOn(t, redislock.New(c), rowlock.Fenced(guard)).Acquire(t.Context(), "x")
	require.NoError(t, err)
	require.NoError(t, s.SetClock(time.Hour))
	second, err := redistest.LockerOn(t, redislock.New(c), rowlock.Fenced(guard)).Acquire(t.Context(), "x")
	require.NoError(t, err)
	assert.Greater(t, second.Token(), first.Token()+rowlock.Token(30*time.Minute/time.Microsecond))
	refuses(t, guard, c, first, second)
}

// If the server's clock is set back, holders still renew and release their locks, tokens rise, and no lock is granted
// again within its TTL. The lock of a crashed holder stays held until a forced release. After that, the lock's leases
// expire by the current clock.
func TestServerClockSetBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := startClocked(t)
	b := redislock.New(redistest.Connect(t, s.Addr))
	kept, crashed, closed := redistest.Acquire(t, b, redistest.Request("kept")), redistest.Acquire(t, b, redistest.Request("crashed")), redistest.Request("closed")
	closed.MinHold = 20 * time.Second
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, closed)))
	gone := redistest.Acquire(t, b, redistest.Request("gone"))
	require.NoError(t, b.Release(ctx, gone))
	require.NoError(t, s.SetClock(-time.Hour))
	pruned, err := b.Prune(ctx, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, pruned)
	assert.Greater(t, redistest.Acquire(t, b, redistest.Request("gone")).Token, gone.Token, "although the lock was deleted, and its token is ahead of the clock")

	outcomes, err := b.Renew(ctx, []driver.Grant{kept})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	assert.InDelta(t, 15, leftOf(t, b, "kept").Seconds(), 6, "a lease has its full TTL")
	require.NoError(t, b.Release(ctx, kept))
	assert.Greater(t, redistest.Acquire(t, b, redistest.Request("kept")).Token, kept.Token)

	for _, name := range []string{"crashed", "closed"} {
		var held *driver.Held
		_, err = b.Acquire(ctx, redistest.Request(name))
		require.ErrorAs(t, err, &held, name)
		assert.Positive(t, held.ExpiresIn, name)
	}
	require.NoError(t, b.ForceRelease(ctx, crashed.Key, crashed.Token, true))
	next := redistest.Acquire(t, b, redistest.Request("crashed"))
	assert.Greater(t, next.Token, crashed.Token)
	require.NoError(t, s.SetClock(-time.Hour+time.Minute)) // waits until the TTL is over on the server's current clock
	assert.Greater(t, redistest.Acquire(t, b, redistest.Request("crashed")).Token, next.Token)
}
