package redislock_test

import (
	"context"
	"database/sql"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Sentinel promotes a replica that lacks the last grant. A second holder is granted the name, with a larger token,
// while the first holder still trusts its lease. Fenced data reject the first holder's writes.
func TestCompatFailoverBySentinel(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	const replicaIP = "127.0.0.2" // the proxy recognises the replica by this address
	primary, replica := redistest.Start(t), redistest.Start(t, "--bind-source-addr", replicaIP)
	between, err := faultproxy.New(primary.Addr)
	require.NoError(t, err)
	t.Cleanup(between.Close)
	host, port, err := net.SplitHostPort(between.Addr())
	require.NoError(t, err)
	require.NoError(t, redistest.Connect(t, replica.Addr).ReplicaOf(t.Context(), host, port).Err())
	awaitReplica(t, redistest.Connect(t, primary.Addr))
	watch, err := testserver.Start(t.Context(), testserver.Sentinel, testserver.Options{Primary: between.Addr()})
	require.NoError(t, err)
	t.Cleanup(watch.Stop)
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: watch.Addr})
	t.Cleanup(func() { _ = sentinel.Close() })
	require.Eventually(t, func() bool {
		known, err := sentinel.Replicas(t.Context(), testserver.SentinelMaster).Result()
		return err == nil && len(known) == 1 && known[0]["master-link-status"] == "ok"
	}, redistest.AtMost, 10*time.Millisecond)

	guard := fenced(t)
	client := func() redis.UniversalClient {
		c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: testserver.SentinelMaster, SentinelAddrs: []string{watch.Addr}})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	other := client()
	one := redistest.LockerOn(t, redislock.New(client()), rowlock.TTL(5*time.Minute), rowlock.Fenced(guard))
	two := redistest.LockerOn(t, redislock.New(other), rowlock.TTL(time.Minute), rowlock.Fenced(guard)) // Acquire retries for one TTL while no server answers
	before, err := one.Acquire(t.Context(), "x")
	require.NoError(t, err)
	require.NoError(t, before.Release(t.Context()))
	awaitReplica(t, redistest.Connect(t, primary.Addr)) // the replica must have the release; otherwise it would block the name for one TTL
	between.CutFrom(func(a net.Addr) bool { return a.(*net.TCPAddr).IP.String() == replicaIP })
	first, err := one.Acquire(t.Context(), "x")
	require.NoError(t, err)
	_, err = two.TryAcquire(t.Context(), "x")
	require.ErrorIs(t, err, rowlock.ErrHeld)

	died := time.Now()
	primary.Kill()
	second, err := two.Acquire(t.Context(), "x")
	require.NoError(t, err)
	t.Logf("a second holder %s after the primary died", time.Since(died).Round(10*time.Millisecond))
	refuses(t, guard, other, first, second)
}

// After FLUSHALL, or after a restart without data, a second holder is granted the name. Fenced data reject the first
// holder's writes.
func TestForgottenLocksAreFenced(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := redistest.Connect(t, s.Addr)
	guard := fenced(t)
	one, two := redistest.LockerOn(t, redislock.New(c), rowlock.Fenced(guard)), redistest.LockerOn(t, redislock.New(c), rowlock.Fenced(guard))
	for name, forget := range map[string]func() error{
		"FLUSHALL": func() error { return c.FlushAll(context.Background()).Err() },
		"restart":  func() error { s.Kill(); return s.Restart(context.Background()) },
	} {
		first, err := one.Acquire(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, forget(), name)
		second, err := two.Acquire(t.Context(), name)
		require.NoError(t, err)
		refuses(t, guard, c, first, second)
	}
}

// A replica is promoted by hand (REPLICAOF NO ONE) while the old primary still answers. Each server grants the name to
// one holder. Fenced data accept only the newer holder's writes.
func TestTwoPrimaries(t *testing.T) {
	t.Parallel()
	primary, replica := redistest.Start(t), redistest.Start(t)
	old, promoted := redistest.Connect(t, primary.Addr), redistest.Connect(t, replica.Addr)
	host, port, err := net.SplitHostPort(primary.Addr)
	require.NoError(t, err)
	require.NoError(t, promoted.ReplicaOf(t.Context(), host, port).Err())
	awaitReplica(t, old)
	require.NoError(t, promoted.ReplicaOf(t.Context(), "NO", "ONE").Err())
	guard := fenced(t)
	first, err := redistest.LockerOn(t, redislock.New(old), rowlock.Fenced(guard)).Acquire(t.Context(), "x")
	require.NoError(t, err)
	second, err := redistest.LockerOn(t, redislock.New(promoted), rowlock.Fenced(guard)).Acquire(t.Context(), "x")
	require.NoError(t, err)
	assert.Greater(t, second.Token(), first.Token())
	nothing := func(context.Context, *sql.Tx) error { return nil }
	require.NoError(t, first.Renew(t.Context()), "nothing notifies the first holder")
	assert.ErrorIs(t, guard.Tx(first.Context(), nothing), fence.ErrStale)
	require.NoError(t, guard.Tx(second.Context(), nothing))
	var held *driver.Held
	_, err = redislock.New(promoted).Acquire(t.Context(), redistest.Request("x"))
	require.ErrorAs(t, err, &held)
}
