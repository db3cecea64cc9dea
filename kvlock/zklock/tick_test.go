package zklock_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// once acquires a name, and releases it with a tick. If the tick is empty, the release records no tick.
func once(t *testing.T, b *zklock.Backend, name, tick string) {
	t.Helper()
	g, err := b.Acquire(t.Context(), request(name))
	require.NoError(t, err)
	g.Done = tick
	require.NoError(t, b.Release(t.Context(), g))
}

func ticks(t *testing.T, b *zklock.Backend) map[string]string {
	t.Helper()
	list, err := b.List(t.Context(), "", true)
	require.NoError(t, err)
	done := make(map[string]string)
	for _, s := range list {
		done[s.Key.Name] = s.Done
	}
	return done
}

// The servers remove the node of a lock without holders and waiters, but not if the lock has a tick. Prune deletes old
// ticks of free names, and the servers then remove the nodes of these names, too.
func TestATickOutlivesTheEmptyLock(t *testing.T) {
	s := clearing.alone(t)
	n := newNetwork(t, s.DSN)
	b := n.watching
	gone := func(name string) func() bool {
		return func() bool {
			found, _, err := n.direct.Exists(b.Container(driver.Key{Name: name}))
			return err == nil && !found
		}
	}
	once(t, b, "old", "one")
	once(t, b, "held", "two")
	once(t, b, "none", "")
	require.Eventually(t, gone("none"), 20*time.Second, 5*time.Millisecond)
	require.Equal(t, map[string]string{"old": "one", "held": "two"}, ticks(t, b))
	g, err := b.Acquire(t.Context(), request("held"))
	require.NoError(t, err)
	require.Equal(t, "two", g.Done)

	pruned, err := b.Prune(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Zero(t, pruned)
	pruned, err = b.Prune(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1, pruned, "the name that is held keeps its tick")
	require.Equal(t, map[string]string{"held": "two"}, ticks(t, b))
	require.Eventually(t, gone("old"), 20*time.Second, 5*time.Millisecond)
	g.Done = "three"
	require.NoError(t, b.Release(t.Context(), g), "a release writes the tick again")
	require.Equal(t, map[string]string{"held": "three"}, ticks(t, b))
}

// Each waiter of a queue is granted the lock with the last tick, whether or not the previous holder recorded it.
func TestWaitersGetTheLastTick(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	key := driver.Key{Name: "a"}
	g, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	records := []string{"", "one", "", "two", "three", "", ""}
	waiters := make([]*zklock.Backend, len(records))
	grants := make([]chan driver.Grant, len(records))
	for i := range waiters {
		waiters[i], grants[i] = open(t, n.servers, n.root), make(chan driver.Grant, 1)
		go func() {
			g, err := enter(t.Context(), waiters[i], request("a"))
			assert.NoError(t, err)
			grants[i] <- g
		}()
		require.Eventually(t, func() bool { return entries(t, n, key) == i+2 }, 30*time.Second, time.Millisecond)
	}
	holder, last := n.watching, ""
	for i, record := range records {
		watched(t, n, key, len(records)-i)
		if g.Done = record; record != "" {
			last = record
		}
		require.NoError(t, holder.Release(t.Context(), g))
		holder, g = waiters[i], <-grants[i]
		require.Equal(t, last, g.Done, "waiter %d", i)
	}
}

// If a release without a reply was never executed, and the lock was then lost, the release does not report that the
// tick is recorded.
func TestALostReleaseRecordsNoTick(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	b, err := n.open()
	require.NoError(t, err)
	once(t, b, "a", "one")
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	path, _, err := n.head(g.Key)
	require.NoError(t, err)
	require.NoError(t, n.Cut(b))
	g.Done = "two"
	released := make(chan error, 1)
	go func() { released <- b.Release(t.Context(), g) }()
	require.NoError(t, n.direct.Delete(path, -1))
	require.NoError(t, n.Restore(b))
	require.ErrorIs(t, <-released, driver.ErrNotHeld)
	status, err := b.Inspect(t.Context(), g.Key)
	require.NoError(t, err)
	require.Equal(t, driver.Status{Key: g.Key, Done: "one"}, status)
}

// A tick does not disturb programs that use ZooKeeper's own lock recipe on the lock's node.
func TestForeignNodesStandBesideATick(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	once(t, n.watching, "a", "one")
	theirs := zk.NewLock(n.direct, n.watching.Container(driver.Key{Name: "a"}), zk.WorldACL(zk.PermAll))
	require.NoError(t, theirs.Lock())
	waits := queued(t, n, n.watching, t.Context(), request("a"))
	require.Empty(t, waits)
	require.NoError(t, theirs.Unlock())
	require.NoError(t, <-waits)
}
