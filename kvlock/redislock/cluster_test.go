package redislock_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

const tagged = "{locks}:" // this hash tag puts all locks into one slot

// nodes starts a Cluster, and returns a client of the Cluster and a client of each of its three primaries.
func nodes(tb testing.TB) (c *redis.ClusterClient, each []*redis.Client) {
	tb.Helper()
	addrs := cluster(tb)
	for _, addr := range addrs {
		each = append(each, redistest.Connect(tb, addr))
	}
	c = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	tb.Cleanup(func() { _ = c.Close() })
	return c, each
}

// When a slot moves to another server, its locks move too. Before, during and after the move, holders can renew and
// release these locks, no other request is granted them, and tokens rise.
func testSlotMigration(t *testing.T, c *redis.ClusterClient, each []*redis.Client) {
	ctx := context.Background()
	b, other := redislock.New(c, redislock.Prefix(tagged)), redislock.New(c, redislock.Prefix(tagged))
	slot := int(c.ClusterKeySlot(ctx, tagged).Val())
	from := each[slices.IndexFunc(each, func(n *redis.Client) bool { return serves(t, n, slot) })]
	to := each[slices.IndexFunc(each, func(n *redis.Client) bool { return !serves(t, n, slot) })]
	id := func(n *redis.Client) string { return n.ClusterMyID(ctx).Val() }
	assign := func(n *redis.Client, how ...any) {
		t.Helper()
		require.NoError(t, n.Do(ctx, append([]any{"CLUSTER", "SETSLOT", slot}, how...)...).Err())
	}
	moveKey := func(key string) {
		t.Helper()
		host, port, err := net.SplitHostPort(to.Options().Addr)
		require.NoError(t, err)
		require.Equal(t, "OK", from.Migrate(ctx, host, port, key, 0, 10*time.Second).Val())
	}
	move := func(name string) { moveKey(tagged + ":" + name) }

	var grants []driver.Grant
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		r := redistest.Request(name)
		r.Shared = name == "a" || name == "b"
		grants = append(grants, redistest.Acquire(t, b, r))
	}
	check := func(stage string) {
		t.Helper()
		outcomes, err := b.Renew(ctx, grants)
		require.NoError(t, err, stage)
		for i, o := range outcomes {
			assert.Equal(t, driver.Renewed, o, "%s: %s", stage, grants[i].Key.Name)
		}
		for _, g := range grants {
			var held *driver.Held
			_, err := other.Acquire(ctx, redistest.Request(g.Key.Name))
			require.ErrorAs(t, err, &held, stage)
			assert.Equal(t, g.Token, held.Token)
		}
		last := grants[len(grants)-1]
		require.NoError(t, b.Release(ctx, last), stage)
		next := redistest.Acquire(t, b, redistest.Request(last.Key.Name))
		assert.Greater(t, next.Token, last.Token, stage)
		grants[len(grants)-1] = next
		reading := redistest.Request("a")
		reading.Shared = true
		join := redistest.Acquire(t, b, reading)
		assert.Equal(t, grants[0].Token, join.Token, stage)
		require.NoError(t, b.Release(ctx, join), stage)
		require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("new in "+stage))), stage)
	}
	check("peace")
	stale := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Options().Addrs, ClusterStateReloadInterval: time.Hour})
	t.Cleanup(func() { _ = stale.Close() })
	replicated := redislock.New(stale, redislock.Prefix(tagged), redislock.Replicated(1, time.Millisecond))
	_, err := replicated.Acquire(ctx, redistest.Request("unconfirmed"))
	require.ErrorContains(t, err, "0 of 1 replicas")
	assign(to, "IMPORTING", id(from))
	assign(from, "MIGRATING", id(to))
	check("none moved")
	move("a")
	move("d")
	check("some moved")
	require.NoError(t, c.ForEachMaster(ctx, func(ctx context.Context, n *redis.Client) error { return n.ScriptFlush(ctx).Err() }))
	check("some moved, scripts forgotten")
	for _, name := range []string{"b", "c"} {
		move(name)
	}
	check("all moved")
	for _, key := range from.ClusterGetKeysInSlot(ctx, slot, 10_000).Val() { // all remaining keys
		moveKey(key)
	}
	assign(to, "NODE", id(to))
	assign(from, "NODE", id(to))
	check("over") // the client still has the old slot map
	_, err = replicated.Acquire(ctx, redistest.Request("unconfirmed"))
	require.ErrorContains(t, err, "MOVED")
	require.False(t, driver.IsPermanent(err), "the client has loaded the new slot map")
	require.Eventually(t, func() bool {
		_, err = replicated.Acquire(ctx, redistest.Request("unconfirmed"))
		return err != nil && strings.Contains(err.Error(), "0 of 1 replicas")
	}, redistest.AtMost, 10*time.Millisecond)
	for _, g := range grants {
		require.NoError(t, other.Release(ctx, g))
	}
}

// serves reports whether node n lists the slot as its own.
func serves(tb testing.TB, n *redis.Client, slot int) bool {
	tb.Helper()
	shards, err := n.ClusterShards(context.Background()).Result()
	require.NoError(tb, err)
	id := n.ClusterMyID(context.Background()).Val()
	for _, shard := range shards {
		if !slices.ContainsFunc(shard.Nodes, func(node redis.Node) bool { return node.ID == id }) {
			continue
		}
		return slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return int(r.Start) <= slot && slot <= int(r.End) })
	}
	return false
}

func TestCompatCluster(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c, each := nodes(t)
	for name, test := range map[string]func(*testing.T, *redis.ClusterClient, []*redis.Client){
		"preflight": testPreflightOfCluster, "batches": testBatchesOnCluster, "migration": testSlotMigration, "replicated": testReplicatedOnCluster,
		"queue": testQueueOnCluster, "forgotten": testForgottenOnCluster,
	} {
		t.Run(name, func(t *testing.T) { test(t, c, each) })
	}
}

// The first operation checks every primary. If a primary is not fit for locks, the next operation checks again.
func testPreflightOfCluster(t *testing.T, c *redis.ClusterClient, each []*redis.Client) {
	ctx := context.Background()
	require.NoError(t, each[2].ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err())
	b := redislock.New(c)
	_, err := b.Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "noeviction")
	require.NoError(t, each[2].ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x"))))
	_, err = redislock.New(each[0]).Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "NewClusterClient")
}

// With a hash tag in the prefix, one run of the script renews a hundred leases. Without a hash tag, one run renews the
// leases of one slot.
func testBatchesOnCluster(t *testing.T, c *redis.ClusterClient, each []*redis.Client) {
	ctx := context.Background()
	for _, prefix := range []string{tagged, redislock.DefaultPrefix} {
		b := redislock.New(c, redislock.Prefix(prefix))
		grants := make([]driver.Grant, 250)
		slots := make(map[int64]bool)
		for i := range grants {
			grants[i] = redistest.Acquire(t, b, redistest.Request(fmt.Sprint(i)))
			slots[c.ClusterKeySlot(ctx, prefix+":"+fmt.Sprint(i)).Val()] = true
		}
		want := len(slots)
		if prefix == tagged {
			want = 3
		}
		for range 2 { // in the second round, all servers know the script
			for _, n := range each {
				redistest.ResetRuns(t, n)
			}
			outcomes, err := b.Renew(ctx, grants)
			require.NoError(t, err)
			assert.Equal(t, slices.Repeat([]driver.Outcome{driver.Renewed}, len(grants)), outcomes)
		}
		runs := 0
		for _, n := range each {
			runs += redistest.ScriptRuns(t, n)
		}
		assert.Equal(t, want, runs, prefix)
	}
}

// For each lease, the option Replicated waits for replicas of one primary: the server that keeps the lease.
func testReplicatedOnCluster(t *testing.T, c *redis.ClusterClient, each []*redis.Client) {
	ctx := context.Background()
	spare := redistest.Connect(t, redistest.Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "30000").Addr)
	host, port, err := net.SplitHostPort(each[0].Options().Addr)
	require.NoError(t, err)
	require.NoError(t, spare.ClusterMeet(ctx, host, port).Err())
	require.Eventually(t, func() bool { return spare.ClusterReplicate(ctx, each[0].ClusterMyID(ctx).Val()).Err() == nil }, redistest.AtMost, 10*time.Millisecond)
	var with, without string // two names: the first on the primary that has a replica, the second on another primary
	for i := 0; with == "" || without == ""; i++ {
		name := fmt.Sprint("replicated", i)
		if serves(t, each[0], int(c.ClusterKeySlot(ctx, redislock.DefaultPrefix+":"+name).Val())) {
			with = name
		} else {
			without = name
		}
	}
	plain := redislock.New(c)
	short := redislock.New(c, redislock.Replicated(1, 50*time.Millisecond))
	_, err = short.Acquire(ctx, redistest.Request(without))
	require.ErrorContains(t, err, "0 of 1 replicas")
	// The name is free, because the failed acquire has released its grant.
	alone := redistest.Acquire(t, plain, redistest.Request(without))

	require.Eventually(t, func() bool { // retries until the replica has connected
		g, err := short.Acquire(ctx, redistest.Request(with))
		return err == nil && short.Release(ctx, g) == nil
	}, redistest.AtMost, 10*time.Millisecond)
	b := redislock.New(c, redislock.Replicated(1, 2*time.Second)) // see awaitReplica
	kept := redistest.Acquire(t, b, redistest.Request(with))
	released := redistest.Acquire(t, plain, redistest.Request(with+"too"))
	require.NoError(t, plain.Release(ctx, released))
	require.NoError(t, c.ForEachMaster(ctx, func(ctx context.Context, n *redis.Client) error { return n.ScriptFlush(ctx).Err() }))
	outcomes, err := b.Renew(ctx, []driver.Grant{alone, kept, released})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Unknown, driver.Renewed, driver.Lost}, outcomes, "replicas: none, one, any")
	require.NoError(t, b.Release(ctx, kept))
}
