package redislock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Tokens rise although FLUSHALL, SCRIPT FLUSH, or a restart deletes all data. The old holder's next renewal reports the
// loss.
func TestTokensRiseWhenTheServerForgets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.Start(t)
	c := redistest.Connect(t, s.Addr)
	b := redislock.New(c)
	last := redistest.Acquire(t, b, redistest.Request("x"))
	for name, forget := range map[string]func() error{
		"FLUSHALL": func() error { return c.FlushAll(ctx).Err() },
		"restart":  func() error { s.Kill(); return s.Restart(ctx) },
	} {
		require.NoError(t, forget(), name)
		require.NoError(t, c.ScriptFlush(ctx).Err())
		outcomes, err := b.Renew(ctx, []driver.Grant{last})
		require.NoError(t, err, name)
		assert.Equal(t, []driver.Outcome{driver.Lost}, outcomes, name)
		assert.ErrorIs(t, b.Release(ctx, last), driver.ErrNotHeld, name)
		next := redistest.Acquire(t, b, redistest.Request("x"))
		assert.Greater(t, next.Token, last.Token, name)
		last = next
	}
}

// The backend refuses a server that evicts keys, and a replica, with a permanent error that says what to do. With
// AllowEviction, it accepts a server that evicts keys.
func TestServersThatAreNotFit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	c := redistest.Connect(t, s.Addr)
	b := redislock.New(c)
	for range 2 {
		_, err := b.Acquire(ctx, redistest.Request("x"))
		require.ErrorContains(t, err, "noeviction")
		assert.True(t, driver.IsPermanent(err))
	}
	redistest.Acquire(t, redislock.New(c, redislock.AllowEviction()), redistest.Request("x"))

	require.NoError(t, c.ReplicaOf(ctx, "127.0.0.1", "1").Err())
	_, err := redislock.New(c, redislock.AllowEviction()).Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "replica")
	assert.True(t, driver.IsPermanent(err))
}

// If another program uses the key of a lock, Acquire fails with an error that says so, and does not change the key.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	require.NoError(t, c.Set(ctx, redislock.DefaultPrefix+":x", "theirs", 0).Err())
	_, err := redislock.New(c).Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "not a rowlock lock")
	assert.True(t, driver.IsPermanent(err))
	assert.Equal(t, "theirs", c.Get(ctx, redislock.DefaultPrefix+":x").Val())
}

// If no replica confirms a grant, the grant is released and Acquire fails. With a replica, the lock is granted and
// renewed. When the replica is cut off, the outcome of a renewal is unknown, but a lost lease is still reported as
// lost.
func TestReplicated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.Start(t)
	c := redistest.Connect(t, s.Addr)
	short := redislock.New(c, redislock.Replicated(1, 100*time.Millisecond))
	_, err := short.Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "0 of 1 replicas")
	assert.True(t, driver.IsNotApplied(err))
	redistest.Acquire(t, redislock.New(c), redistest.Request("x")) // the failed grant was released

	between, err := faultproxy.New(s.Addr)
	require.NoError(t, err)
	t.Cleanup(between.Close)
	host, port, err := net.SplitHostPort(between.Addr())
	require.NoError(t, err)
	require.NoError(t, redistest.Connect(t, redistest.Start(t).Addr).ReplicaOf(ctx, host, port).Err())
	awaitReplica(t, c)
	b := redislock.New(c, redislock.Replicated(1, 2*time.Second)) // see awaitReplica
	grants := []driver.Grant{redistest.Acquire(t, b, redistest.Request("y")), redistest.Acquire(t, b, redistest.Request("z"))}
	outcomes, err := b.Renew(ctx, grants)
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)

	between.Cut()
	require.NoError(t, b.Release(ctx, grants[1]))
	outcomes, err = short.Renew(ctx, grants)
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Unknown, driver.Lost}, outcomes)
	_, err = short.Acquire(ctx, redistest.Request("z"))
	require.ErrorContains(t, err, "0 of 1 replicas")
}

// A guarded script runs only for the newest holder. The comparison of tokens is exact, even for numbers that a Lua
// number (a double) cannot represent.
func TestGuard(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	var _ redis.Scripter = c
	set := redislock.NewGuard("return redis.call('SET', KEYS[1], ARGV[1])")
	const big = driver.Token(1<<62 + 1)
	for _, token := range []driver.Token{9, 10, big, big} {
		_, err := set.Run(ctx, c, "mark", token, []string{"data"}, "new")
		require.NoError(t, err)
	}
	for _, token := range []driver.Token{1, 99, big - 1} { // all are smaller than the mark: two have fewer digits, and one differs in its last digit
		_, err := set.Run(ctx, c, "mark", token, []string{"data"}, "old")
		require.ErrorIs(t, err, redislock.ErrStale)
	}
	assert.Equal(t, "new", c.Get(ctx, "data").Val())
	require.NoError(t, redislock.Seal(ctx, c, "mark", big+1))
	_, err := set.Run(ctx, c, "mark", big, []string{"data"}, "old")
	require.ErrorIs(t, err, redislock.ErrStale)
}
