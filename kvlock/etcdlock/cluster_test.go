package etcdlock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
	"github.com/rowlock/rowlock/locktest"
)

// A cluster of three nodes passes the conformance suite.
func TestCompatConformanceOfACluster(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newNetwork(tb, threeNodes(tb)...) })
}

// A lease survives when the cluster's leader is killed, or is suspended for longer than an election. It also survives
// restarts of all nodes, one after the other or at once. No other process is granted the name during these faults, and
// a waiter is granted it after the release.
func TestCompatALeaseOutlivesTheLeader(t *testing.T) {
	testenv.Compat(t)
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
