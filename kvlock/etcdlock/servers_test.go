package etcdlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
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

// Run runs the tests and stops the shared servers, before leaks.Main looks for leaked goroutines.
func (m main) Run() int {
	defer func() {
		if shared.EtcdCluster != nil {
			shared.Stop()
		}
		stopIdle()
	}()
	return m.M.Run()
}

func TestMain(m *testing.M) { leaks.Main(main{m}) }

// idle contains the servers that only one test uses at a time, while no test uses them.
var idle struct {
	sync.Mutex
	counted []*testserver.Server
	secured []*secured
}

func stopIdle() {
	for _, s := range idle.counted {
		s.Stop()
	}
	for _, s := range idle.secured {
		s.Stop()
	}
}

// counted returns an empty server that no other test uses at the same time, so that the test can read the server's
// metrics. The test must not change the server itself.
func counted(tb testing.TB) *testserver.Server {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	return borrow(tb, &idle.counted, func() *testserver.Server {
		s, err := testserver.Start(context.Background(), testserver.Etcd, testserver.Options{})
		require.NoError(tb, err)
		return s
	}, func(s *testserver.Server) error { return empty(tb.Context(), config(s.DSN), s.DSN) })
}

// borrow takes a server from a list of idle servers, or starts one. When the test ends, it puts the server back. If reset
// fails, it stops the server instead.
func borrow[S interface{ Stop() }](tb testing.TB, from *[]S, start func() S, reset func(S) error) (s S) {
	tb.Helper()
	idle.Lock()
	last := len(*from) - 1
	if last >= 0 {
		s, *from = (*from)[last], (*from)[:last]
	}
	idle.Unlock()
	if last < 0 {
		s = start()
	}
	tb.Cleanup(func() {
		if err := reset(s); err != nil {
			tb.Logf("the server is not used again: %v", err)
			s.Stop()
			return
		}
		idle.Lock()
		defer idle.Unlock()
		*from = append(*from, s)
	})
	return s
}

// empty deletes all keys and leases, and waits until no watch is left.
func empty(ctx context.Context, c clientv3.Config, dsn string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	client, err := clientv3.New(c)
	if err != nil {
		return err
	}
	defer client.Close()
	all, err := client.Leases(ctx)
	if err != nil {
		return err
	}
	for _, lease := range all.Leases {
		if _, err := client.Revoke(ctx, lease.ID); err != nil {
			return err
		}
	}
	if _, err := client.Delete(ctx, "\x00", clientv3.WithFromKey()); err != nil {
		return err
	}
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if n, err := readMetric(dsn, watches); err != nil || n == 0 {
			return err
		}
	}
	return errors.New("a watch is left")
}

// onOneNode runs a test on the server of one node that all packages share.
func onOneNode(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	t.Parallel()
	test(t, newNetwork(t, server(t)))
}

// onCountedNode does the same as onOneNode, for tests that read metrics. No other test uses the server at the same time.
func onCountedNode(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	t.Parallel()
	test(t, newNetwork(t, counted(t).DSN))
}

// onThreeNodes runs a test on the shared cluster of three nodes.
func onThreeNodes(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	testenv.Compat(t)
	t.Parallel()
	test(t, newNetwork(t, threeNodes(t)...))
}

// onCountedNodes does the same as onThreeNodes, for tests that read metrics. These tests are not parallel, so no other
// test uses the cluster at the same time: Go runs parallel tests later.
func onCountedNodes(t *testing.T, test func(t *testing.T, n *network)) {
	t.Helper()
	testenv.Compat(t)
	test(t, newNetwork(t, threeNodes(t)...))
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
