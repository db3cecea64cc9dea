package etcdlock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
	"github.com/rowlock/rowlock/locktest"
)

// cluster starts a cluster of three nodes that only one test uses. That test may kill and suspend nodes.
func cluster(tb testing.TB) *testserver.EtcdCluster {
	tb.Helper()
	return clusterOf(tb, "")
}

// clusters limits how many clusters run at a time, because on a small machine more clusters would be so slow that tests
// fail.
var clusters = make(chan struct{}, 3)

// clusterOf starts a cluster of the given version of etcd.
func clusterOf(tb testing.TB, version string) *testserver.EtcdCluster {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	clusters <- struct{}{}
	tb.Cleanup(func() { <-clusters })
	c, err := testserver.StartEtcdCluster(tb.Context(), 3, testserver.Options{Version: version, Logf: tb.Logf})
	require.NoError(tb, err)
	tb.Cleanup(c.Stop)
	return c
}

func endpoints(c *testserver.EtcdCluster) (all []string) {
	for _, n := range c.Nodes {
		all = append(all, n.DSN)
	}
	return all
}

func leader(t *testing.T, c *testserver.EtcdCluster) (found *testserver.EtcdNode) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, n := range c.Nodes {
			if leads, err := n.Leads(t.Context()); err == nil && leads {
				found = n
			}
		}
		return found != nil
	}, 30*time.Second, 20*time.Millisecond)
	return found
}

func lockerOn(tb testing.TB, b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	tb.Helper()
	l, err := rowlock.New(b, opts...)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// A cluster of three nodes passes the conformance suite.
func TestConformanceOfACluster(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newNetwork(tb, threeNodes(tb)...) })
}

// A lease survives when the cluster's leader is killed, or is suspended for longer than an election. It also survives
// restarts of all nodes, one after the other or at once. No other process is granted the name during these faults, and
// a waiter is granted it after the release.
func TestALeaseOutlivesTheLeader(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	where := prefix()
	lease, err := lockerOn(t, etcdlock.New(connect(t, endpoints(c)...), where), rowlock.TTL(20*time.Second), rowlock.RenewEvery(200*time.Millisecond)).Acquire(t.Context(), "a")
	require.NoError(t, err)
	other := lockerOn(t, etcdlock.New(connect(t, endpoints(c)...), where))
	waiter := make(chan *rowlock.Lease, 1)
	go func() {
		next, err := lockerOn(t, etcdlock.New(connect(t, endpoints(c)...), where)).Acquire(t.Context(), "a")
		assert.NoError(t, err)
		waiter <- next
	}()
	faults := []struct {
		name string
		do   func()
	}{
		{"leader killed", func() {
			n := leader(t, c)
			n.Kill()
			defer func() { require.NoError(t, n.Restart(t.Context())) }()
			require.Eventually(t, func() bool { return lease.Renew(t.Context()) == nil }, 30*time.Second, 50*time.Millisecond)
		}},
		{"leader suspended and continued", func() {
			n := leader(t, c)
			n.Pause()
			defer n.Continue()
			require.Eventually(t, func() bool { return lease.Renew(t.Context()) == nil }, 15*time.Second, 50*time.Millisecond)
		}},
		{"all nodes killed one after the other", func() {
			for _, n := range c.Nodes {
				n.Kill()
				require.NoError(t, n.Restart(t.Context()))
			}
		}},
		{"all nodes killed at once", func() {
			for _, n := range c.Nodes {
				n.Kill()
			}
			var group sync.WaitGroup
			for _, n := range c.Nodes {
				group.Go(func() { assert.NoError(t, n.Restart(t.Context())) })
			}
			group.Wait()
		}},
	}
	for _, fault := range faults {
		fault.do()
		require.Eventually(t, func() bool { return lease.Renew(t.Context()) == nil }, 15*time.Second, 50*time.Millisecond, fault.name)
		require.NoError(t, lease.Err(), fault.name)
		require.Eventually(t, func() bool {
			_, err := other.TryAcquire(t.Context(), "a")
			return errors.Is(err, rowlock.ErrHeld)
		}, 15*time.Second, 50*time.Millisecond, fault.name)
	}
	require.Empty(t, waiter)
	require.NoError(t, lease.Release(t.Context()))
	next := <-waiter
	require.NotNil(t, next)
	require.Greater(t, next.Token(), lease.Token())
}
