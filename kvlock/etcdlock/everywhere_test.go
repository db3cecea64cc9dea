package etcdlock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testserver"
)

// shared is the cluster of the tests that do nothing to a node. It is started by the first that needs it.
var shared struct {
	sync.Once
	*testserver.EtcdCluster
	err error
}

// threeNodes is how to reach the shared cluster.
func threeNodes(tb testing.TB) []string {
	tb.Helper()
	server(tb) // where the launcher could not start one, neither can this test
	shared.Do(func() {
		shared.EtcdCluster, shared.err = testserver.StartEtcdCluster(context.Background(), 3, testserver.Options{})
	})
	require.NoError(tb, shared.err)
	return endpoints(shared.EtcdCluster)
}

type main struct{ *testing.M }

// Run has the shared cluster stopped before leaks are looked for.
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

// everywhereAlone is for what is seen in metrics: nobody else talks to those nodes meanwhile, because tests
// that are not parallel run before those that are.
func everywhereAlone(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	t.Run("one node", func(t *testing.T) { test(t, newNetwork(t, alone(t).DSN)) })
	t.Run("three nodes", func(t *testing.T) { test(t, newNetwork(t, threeNodes(t)...)) })
}

// metric is the sum of a counter over all nodes.
func (n *network) metric(pattern string) int {
	n.tb.Helper()
	sum := 0
	for _, endpoint := range n.endpoints {
		sum += metric(n.tb, endpoint, pattern)
	}
	return sum
}
