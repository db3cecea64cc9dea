package etcdlock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testserver"
)

// shared is the cluster for all tests that do not kill or suspend nodes. The first of these tests starts it.
var shared struct {
	sync.Once
	*testserver.EtcdCluster
	err error
}

// threeNodes returns the endpoints of the shared cluster.
func threeNodes(tb testing.TB) []string {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	shared.Do(func() {
		shared.EtcdCluster, shared.err = testserver.StartEtcdCluster(context.Background(), 3, testserver.Options{})
	})
	require.NoError(tb, shared.err)
	return endpoints(shared.EtcdCluster)
}

type main struct{ *testing.M }

// Run runs the tests and stops the shared cluster, before leaks.Main looks for leaked goroutines.
func (m main) Run() int {
	defer func() {
		if shared.EtcdCluster != nil {
			shared.Stop()
		}
	}()
	return m.M.Run()
}

func TestMain(m *testing.M) { leaks.Main(main{m}) }

// everywhere runs a test on a server of one node, and on a cluster of three nodes.
func everywhere(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		t.Parallel()
		test(t, newNetwork(t, server(t)))
	})
	t.Run("three nodes", func(t *testing.T) {
		t.Parallel()
		test(t, newNetwork(t, threeNodes(t)...))
	})
}

// everywhereAlone does the same as everywhere, for tests that read metrics. These tests are not parallel, so no other
// test uses their nodes at the same time: Go runs parallel tests later.
func everywhereAlone(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	t.Run("one node", func(t *testing.T) { test(t, newNetwork(t, alone(t).DSN)) })
	t.Run("three nodes", func(t *testing.T) { test(t, newNetwork(t, threeNodes(t)...)) })
}

// metric returns the sum of a metric over all nodes.
func (n *network) metric(pattern string) int {
	n.tb.Helper()
	sum := 0
	for _, endpoint := range n.endpoints {
		sum += metric(n.tb, endpoint, pattern)
	}
	return sum
}
