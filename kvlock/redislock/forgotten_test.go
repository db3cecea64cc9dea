package redislock_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Promise 3 of docs/guarantees.md: the server deletes the locks of names that are used once, and if a deleted name is
// used again, its tokens still rise. They rise even if the server's clock was set back, with or without a restart.
func TestTokensOfForgottenNamesRise(t *testing.T) {
	t.Parallel()
	testenv.DSN(t, testenv.EngineRedis)
	s, err := testserver.Start(t.Context(), testserver.Redis, testserver.Options{Clock: true, Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	c := redistest.Connect(t, s.Addr)
	b := redislock.New(c)
	var last driver.Token
	for _, then := range []func(){
		func() {},
		func() { require.NoError(t, s.SetClock(-time.Hour)) },
		func() { s.Kill(); require.NoError(t, s.Restart(t.Context())) },
		func() { require.NoError(t, s.SetClock(-48*time.Hour)) },
	} {
		g := redistest.Acquire(t, b, redistest.Request("x"))
		assert.Greater(t, g.Token, last)
		require.NoError(t, b.Release(t.Context(), g))
		require.NoError(t, b.Release(t.Context(), g), "a repeated release after a lost reply")
		redistest.Forget(t, c, redislock.DefaultPrefix+":x")
		require.NoError(t, b.Release(t.Context(), redistest.Acquire(t, b, redistest.Request("another"))))
		last = g.Token
		then()
	}
	assert.Greater(t, redistest.Acquire(t, b, redistest.Request("x")).Token, last)
}

// The server's record, which keeps the largest token of deleted locks, is replicated. So the tokens of deleted names
// still rise after a failover, even if the new server's clock is behind.
func TestTokensOfForgottenNamesRiseThroughFailover(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	host, port, err := net.SplitHostPort(primary.Addr)
	require.NoError(t, err)
	s, err := testserver.Start(t.Context(), testserver.Redis, testserver.Options{Clock: true, Args: []string{"--replicaof", host + " " + port}})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	require.NoError(t, s.SetClock(-time.Hour))
	c, replica := redistest.Connect(t, primary.Addr), redistest.Connect(t, s.Addr)
	awaitReplica(t, c)
	b := redislock.New(c)
	g := redistest.Acquire(t, b, redistest.Request("x"))
	require.NoError(t, b.Release(t.Context(), g))
	redistest.Forget(t, c, redislock.DefaultPrefix+":x")
	require.NoError(t, c.Set(t.Context(), "last", "", 0).Err())
	require.Eventually(t, func() bool { return replica.Exists(t.Context(), "last").Val() == 1 }, redistest.AtMost, time.Millisecond)
	require.NoError(t, replica.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	require.Zero(t, replica.Exists(t.Context(), redislock.DefaultPrefix+":x").Val())
	assert.Greater(t, redistest.Acquire(t, redislock.New(replica), redistest.Request("x")).Token, g.Token)
}

// On a Cluster each slot has its own record, because a script can use only keys of one slot. With a hash tag in the
// prefix there is one record.
func testForgottenOnCluster(t *testing.T, c *redis.ClusterClient, each []*redis.Client) {
	for _, prefix := range []string{"gone:", "{bygone}:"} {
		b := redislock.New(c, redislock.Prefix(prefix))
		grants := make(map[string]driver.Grant)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			g := redistest.Acquire(t, b, redistest.Request(name))
			require.NoError(t, b.Release(t.Context(), g))
			redistest.Forget(t, c, prefix+":"+name)
			grants[name] = g
		}
		var records []string
		for _, n := range each {
			records = append(records, n.Keys(t.Context(), strings.Replace(prefix, "{", "[{]", 1)+"*").Val()...)
		}
		want := map[string]int{"gone:": len(grants), "{bygone}:": 1}[prefix]
		assert.Len(t, records, want, prefix)
		for _, record := range records { // gives each record the state that a clock one day ahead would have left
			ahead := time.Now().Add(24 * time.Hour).UnixMicro()
			require.Positive(t, c.Exists(t.Context(), record).Val())
			require.NoError(t, c.HSet(t.Context(), record, "top", ahead).Err())
			at := c.ClusterKeySlot(t.Context(), record).Val()
			for name := range grants {
				if c.ClusterKeySlot(t.Context(), prefix+":"+name).Val() == at {
					assert.Greater(t, int64(redistest.Acquire(t, b, redistest.Request(name)).Token), ahead, name)
				}
			}
		}
		list, err := b.List(t.Context(), "", true)
		require.NoError(t, err)
		assert.Len(t, list, len(grants), "a record is not listed as a lock")
		for _, s := range list {
			require.NoError(t, b.ForceRelease(t.Context(), s.Key, s.Token, true))
		}
		n, err := b.Prune(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, len(grants), n)
	}
}
