package redislock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Silence()
	leaks.Main(m)
}

// cluster starts three primaries that share the slots, and returns their addresses.
func cluster(tb testing.TB) []string {
	tb.Helper()
	ctx := context.Background()
	addrs := make([]string, 3)
	nodes := make([]*redis.Client, 3)
	for i := range addrs {
		addrs[i] = redistest.Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "30000").Addr
		nodes[i] = redistest.Connect(tb, addrs[i])
		require.NoError(tb, nodes[i].ClusterAddSlotsRange(ctx, i*16384/3, (i+1)*16384/3-1).Err())
		require.NoError(tb, nodes[i].Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
	}
	for _, addr := range addrs[1:] {
		host, port, err := net.SplitHostPort(addr)
		require.NoError(tb, err)
		require.NoError(tb, nodes[0].ClusterMeet(ctx, host, port).Err())
	}
	for _, node := range nodes {
		require.Eventually(tb, func() bool {
			facts, err := node.ClusterInfo(ctx).Result()
			known, err2 := node.ClusterShards(ctx).Result()
			return err == nil && err2 == nil && len(known) == 3 && len(facts) > 0 && facts[:16] == "cluster_state:ok"
		}, 30*time.Second, 20*time.Millisecond)
	}
	return addrs
}

// awaitReplica waits until the primary streams its writes to a replica. It repeats a write and a WAIT until WAIT has
// counted the replica twice. The first count does not prove that the primary streams: the replica may have received
// that write in its snapshot. The replica may then acknowledge the write before the primary has noticed that its child
// process for the snapshot has ended. In this case the primary starts to stream at the next acknowledgement, up to a
// second later. So if WAIT counts the replica for a second write, the primary streams. From then on WAIT takes one
// round trip.
func awaitReplica(tb testing.TB, primary *redis.Client) {
	tb.Helper()
	ctx := context.Background()
	counted := 0
	require.Eventually(tb, func() bool {
		var n *redis.Cmd
		_, err := primary.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "written", "", 0)
			n = p.Do(ctx, "WAIT", 1, 100)
			return nil
		})
		if err == nil && n.Val() == int64(1) {
			counted++
		}
		return counted == 2
	}, 30*time.Second, time.Millisecond)
}
