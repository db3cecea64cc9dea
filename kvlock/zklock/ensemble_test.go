package zklock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
)

// ensemble starts three servers for one test. Their release is newer than that of the server that other tests share.
func ensemble(tb testing.TB) *testserver.ZooKeeperEnsemble {
	tb.Helper()
	server(tb) // skips the test if the launcher could not start a server
	c, err := testserver.StartZooKeeperEnsemble(tb.Context(), 3, testserver.Options{Logf: tb.Logf})
	require.NoError(tb, err)
	tb.Cleanup(c.Stop)
	return c
}

// Three servers of a newer release pass the conformance suite and the tests of faults. Faults of single servers do not
// end leases, and never cause two holders. All parts use the same servers, so they are one test.
func TestCompatEnsemble(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := ensemble(t)
	t.Run("whole", func(t *testing.T) {
		t.Run("conformance", func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, func(tb testing.TB) locktest.Harness { return newNetwork(tb, servers(c)...) })
		})
		t.Run("faults", func(t *testing.T) {
			t.Parallel()
			faultsOn(t, servers(c)...)
		})
		t.Run("black-holes", func(t *testing.T) {
			t.Parallel()
			blackHoles(t, servers(c))
		})
	})
	t.Run("lease-outlives-leaders", func(t *testing.T) { leaseOutlivesLeaders(t, c) })
	t.Run("leader-in-the-minority", func(t *testing.T) { minorityLosesFirst(t, c, leader(t, c)) })
	t.Run("follower-in-the-minority", func(t *testing.T) { minorityLosesFirst(t, c, follower(t, c)) })
	t.Run("follower-behind", func(t *testing.T) { behindRefusesNothing(t, c, follower(t, c)) })
}

func without(c *testserver.ZooKeeperEnsemble, node *testserver.ZooKeeperNode) (others []string) {
	for _, n := range c.Nodes {
		if n != node {
			others = append(others, n.DSN)
		}
	}
	return others
}

// leaseOutlivesLeaders: a lease survives when the leader is killed, or is suspended for longer than an election. It
// also survives when all servers are restarted at once. No other process is granted the name during these faults, and a
// waiter is granted it after the release.
func leaseOutlivesLeaders(t *testing.T, c *testserver.ZooKeeperEnsemble) {
	where := root()
	usual := []rowlock.Option{rowlock.TTL(time.Minute), rowlock.RenewEvery(200 * time.Millisecond)}
	lease, err := lockerOn(t, open(t, servers(c), where), usual...).Acquire(t.Context(), "a")
	require.NoError(t, err)
	other := lockerOn(t, open(t, servers(c), where), rowlock.TTL(time.Minute))
	last := open(t, servers(c), where)
	waiter := make(chan *rowlock.Lease, 1)
	go func() {
		next, err := lockerOn(t, last, rowlock.TTL(time.Minute)).Acquire(t.Context(), "a")
		assert.NoError(t, err)
		waiter <- next
	}()
	renewed := func(fault string) {
		t.Helper()
		require.Eventually(t, func() bool { return lease.Renew(t.Context()) == nil }, 40*time.Second, 50*time.Millisecond, fault)
		require.NoError(t, lease.Err(), fault)
	}
	faults := []struct {
		name string
		do   func(name string)
	}{
		{"leader killed", func(name string) {
			n := leader(t, c)
			n.Kill()
			renewed(name)
			require.NoError(t, n.Restart(t.Context()))
		}},
		{"leader suspended and continued", func(name string) {
			n := leader(t, c)
			n.Pause()
			defer n.Continue()
			renewed(name)
		}},
		{"all servers killed at once", func(string) {
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
		fault.do(fault.name)
		renewed(fault.name)
		require.Eventually(t, func() bool {
			_, err := other.TryAcquire(t.Context(), "a")
			return errors.Is(err, rowlock.ErrHeld)
		}, 20*time.Second, 50*time.Millisecond, fault.name)
	}
	require.Empty(t, waiter)
	require.NoError(t, lease.Release(t.Context()))
	next := <-waiter
	require.NotNil(t, next)
	require.Greater(t, next.Token(), lease.Token())
}

// minorityLosesFirst: a holder whose server is cut off from the majority stops trusting its lease before the majority
// grants the name again. The cut-off server still answers the client's pings.
func minorityLosesFirst(t *testing.T, c *testserver.ZooKeeperEnsemble, minority *testserver.ZooKeeperNode) {
	where := root()
	majority := without(c, minority)
	lease := atLast(t, lockerOn(t, open(t, []string{minority.DSN}, where), rowlock.TTL(time.Second)), "a")
	ended := make(chan time.Time, 1)
	context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
	c.Isolate(minority)
	defer c.Rejoin()
	next := atLast(t, lockerOn(t, open(t, majority, where), rowlock.TTL(20*time.Second)), "a")
	granted := time.Now()
	require.ErrorIs(t, lease.Err(), rowlock.ErrLost, "the majority granted the name while the holder in the minority trusted its lease")
	t.Logf("the holder's context ended %s before the next grant", granted.Sub(<-ended).Round(time.Millisecond))
	require.Greater(t, next.Token(), lease.Token())
	c.Rejoin()
	require.Eventually(t, func() bool { return next.Renew(t.Context()) == nil }, 20*time.Second, 50*time.Millisecond)
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
	require.NoError(t, next.Release(t.Context()))
}

// behindRefusesNothing: if a server does not know of a release yet, the lock is not reported as held.
func behindRefusesNothing(t *testing.T, c *testserver.ZooKeeperEnsemble, behind *testserver.ZooKeeperNode) {
	where := root()
	holder := atLast(t, lockerOn(t, open(t, without(c, behind), where), rowlock.TTL(20*time.Second)), "a")
	l := lockerOn(t, open(t, []string{behind.DSN}, where), rowlock.TTL(20*time.Second))
	require.Eventually(t, func() bool {
		_, err := l.TryAcquire(t.Context(), "a")
		return errors.Is(err, rowlock.ErrHeld)
	}, 20*time.Second, 10*time.Millisecond)
	c.Isolate(behind)
	defer c.Rejoin()
	require.NoError(t, holder.Release(t.Context()))
	_, err := l.TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.NotErrorIs(t, err, rowlock.ErrHeld)
	c.Rejoin()
	lease := atLast(t, l, "a")
	require.Greater(t, lease.Token(), holder.Token())
}
