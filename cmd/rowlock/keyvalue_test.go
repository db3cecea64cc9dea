//go:build unix

package main

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// prefix returns the option for a key prefix that only one test uses, because all tests share the servers.
func prefix() string { return "?prefix=test-" + driver.NewNonce().String() }

func redisStore(tb testing.TB, _ workplace) string {
	tb.Helper()
	url, prefix := testenv.Redis(tb)
	return url + "?prefix=" + prefix
}

func etcdStore(tb testing.TB, _ workplace) string {
	tb.Helper()
	return strings.Replace(testenv.DSN(tb, testenv.EngineEtcd), "http://", "etcd://", 1) + "/" + prefix()
}

// redisCluster returns a function that returns the address of a Redis Cluster with three primaries.
// The first call of that function starts the servers, and all subtests of tb share them.
func redisCluster(tb testing.TB) func(testing.TB, workplace) string {
	tb.Helper()
	servers := sync.OnceValue(func() string {
		addrs := make([]string, 3)
		nodes := make([]*redis.Client, 3)
		for i := range addrs {
			addrs[i] = startServer(tb, testserver.Redis, "--cluster-enabled", "yes").Addr
			nodes[i] = redis.NewClient(&redis.Options{Addr: addrs[i]})
			defer nodes[i].Close()
			require.NoError(tb, nodes[i].ClusterAddSlotsRange(tb.Context(), i*16384/3, (i+1)*16384/3-1).Err())
			require.NoError(tb, nodes[i].Do(tb.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		}
		for _, addr := range addrs[1:] {
			host, port, err := net.SplitHostPort(addr)
			require.NoError(tb, err)
			require.NoError(tb, nodes[0].ClusterMeet(tb.Context(), host, port).Err())
		}
		for _, node := range nodes {
			require.Eventually(tb, func() bool {
				facts, err := node.ClusterInfo(tb.Context()).Result()
				known, err2 := node.ClusterShards(tb.Context()).Result()
				return err == nil && err2 == nil && len(known) == 3 && strings.HasPrefix(facts, "cluster_state:ok")
			}, 30*time.Second, 20*time.Millisecond)
		}
		return strings.Join(addrs[1:], ",") // the address of the third server is omitted, because the client discovers that server
	})
	return func(tb testing.TB, _ workplace) string {
		testenv.DSN(tb, testenv.EngineRedis) // skips only this test on a machine without Redis
		return "redis+cluster://" + servers() + prefix() + ":"
	}
}

var zookeeperBegan sync.Once

// zookeeperStore returns the address of a ZooKeeper store. The first call also acquires a lock once. During this
// acquire a new server loads Java classes, which may take long on a busy machine.
func zookeeperStore(tb testing.TB, w workplace) string {
	tb.Helper()
	addr := testenv.DSN(tb, testenv.EngineZooKeeper)
	zookeeperBegan.Do(func() {
		for end := time.Now().Add(time.Minute); ; {
			code, output := w.run(tb, "run", "warm-up", "--store", "zk://"+addr+"/warm-up", "--", "true")
			if code == 0 {
				return
			}
			require.Equal(tb, 69, code, output)
			require.True(tb, time.Now().Before(end), output)
		}
	})
	return "zk://" + addr + "/test-" + driver.NewNonce().String()
}

// redlockStore returns a function that returns the address of a Redlock store of three servers. The first call of that
// function starts the servers, and all subtests of tb share them. Each server grants locks at once, as if it had been
// running for a long time. The time limits are long, because servers on this machine may be slow.
func redlockStore(tb testing.TB) func(testing.TB, workplace) string {
	tb.Helper()
	servers := sync.OnceValue(func() (addrs []string) {
		for range 3 {
			addrs = append(addrs, startServer(tb, testserver.Redis).Addr)
		}
		return addrs
	})
	return func(tb testing.TB, _ workplace) string {
		testenv.DSN(tb, testenv.EngineRedis)
		prefix := driver.NewNonce().String() + ":"
		for _, addr := range servers() {
			node := redis.NewClient(&redis.Options{Addr: addr})
			defer node.Close()
			giveVote(tb, node, prefix)
		}
		return "redlock://" + strings.Join(servers(), ",") + "?node_timeout=5s&prefix=" + prefix
	}
}

// giveVote lets a new server of a Redlock store grant locks at once. Otherwise a new server grants nothing at first,
// because it may have lost its data.
func giveVote(tb testing.TB, node *redis.Client, prefix string) {
	tb.Helper()
	run := node.InfoMap(tb.Context(), "server").Item("Server", "run_id")
	require.NoError(tb, node.HSet(tb.Context(), prefix+"node", "run_id", run, "since", 0, "admitted", 1, "top", 0, "floor", 0).Err())
}

// startServer starts a server that only one test uses, so the test may kill the server.
func startServer(tb testing.TB, engine string, args ...string) *testserver.Server {
	tb.Helper()
	testenv.DSN(tb, engine) // skips the test on a machine that cannot start a server
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := testserver.Start(ctx, engine, testserver.Options{Args: args})
	require.NoError(tb, err)
	tb.Cleanup(s.Stop)
	return s
}

// If an error of the library advises a programmer to change an option, the command advises the equivalent option of the
// command line. The advice works as printed.
func TestAdviceIsForTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	evicting := "redis://" + startServer(t, testserver.Redis, "--maxmemory-policy", "allkeys-lru").Addr
	part := startServer(t, testserver.Redis, "--cluster-enabled", "yes").Addr
	wholeCluster(t, part)
	for _, advice := range []struct{ store, said, then string }{
		{evicting, "accept evictions with allow_eviction=true in --store", evicting + "?allow_eviction=true"},
		{"redis://" + part, "write redis+cluster://HOST:PORT for --store", "redis+cluster://" + part},
		{evicting + "?allow_eviction=true&replicas=1&replica_wait=100ms", "0 of 1 replicas", evicting + "?allow_eviction=true"},
	} {
		code, output := w.run(t, "run", "job", "--store", advice.store, "--", "touch", "never")
		require.Equal(t, 69, code, output)
		require.Contains(t, output, advice.said)
		code, output = w.run(t, "run", "job", "--store", advice.then, "--", "true")
		require.Zero(t, code, output)
	}
	require.NoFileExists(t, filepath.Join(w.dir, "never"))
}

// A Redlock server that may have lost its data grants no locks for some time. While a majority of the servers grants
// nothing, rowlock reports the lock as held, and the message says why.
func TestRedlockWithoutAVoteIsHeld(t *testing.T) {
	t.Parallel()
	var addrs []string
	for range 3 {
		addrs = append(addrs, startServer(t, testserver.Redis).Addr)
	}
	w := newWorkplace(t)
	code, output := w.run(t, "run", "job", "--store", "redlock://"+strings.Join(addrs, ",")+"?node_timeout=5s", "--", "touch", "never")
	require.Equal(t, 75, code, output)
	require.Contains(t, output, `"job" is closed after a change of server`)
	require.NoFileExists(t, filepath.Join(w.dir, "never"))
}
