package etcdlock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testserver"
)

// shared is the cluster of the tests that break no node. The first test that needs it starts it.
var shared struct {
	sync.Once
	*testserver.EtcdCluster
	err error
}

// threeNodes returns the endpoints of the shared cluster.
func threeNodes(tb testing.TB) []string {
	tb.Helper()
	server(tb) // if the launcher could not start a server, this test is skipped too
	shared.Do(func() {
		shared.EtcdCluster, shared.err = testserver.StartEtcdCluster(context.Background(), 3, testserver.Options{})
	})
	require.NoError(tb, shared.err)
	return endpoints(shared.EtcdCluster)
}

type main struct{ *testing.M }

// Run stops the shared cluster before the check for leaks.
func (m main) Run() int {
	defer func() {
		if shared.EtcdCluster != nil {
			shared.Stop()
		}
	}()
	return m.M.Run()
}

func TestMain(m *testing.M) { leaks.Main(main{m}) }

// everywhere runs a test on one node and on three.
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

// everywhereAlone is for tests that read metrics. Nothing else uses those nodes meanwhile, because tests that are not
// parallel run before those that are.
func everywhereAlone(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	t.Run("one node", func(t *testing.T) { test(t, newNetwork(t, alone(t).DSN)) })
	t.Run("three nodes", func(t *testing.T) { test(t, newNetwork(t, threeNodes(t)...)) })
}

// metric returns the sum of a counter over all nodes.
func (n *network) metric(pattern string) int {
	n.tb.Helper()
	sum := 0
	for _, endpoint := range n.endpoints {
		sum += metric(n.tb, endpoint, pattern)
	}
	return sum
}
