package zklock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// Similar TTLs share one connection. By default, a server accepts only 60 connections from one address.
func TestManyTTLsShareConnections(t *testing.T) {
	addr := clearing.alone(t).Addr
	l := lockerOn(t, open(t, []string{addr}, root()))
	for ttl := time.Second; ttl <= 7*24*time.Hour; ttl = ttl*11/10 + time.Millisecond { // 140 TTLs, up to the largest
		lease, err := l.Acquire(t.Context(), ttl.String(), rowlock.TTL(ttl))
		for end := time.Now().Add(30 * time.Second); errors.Is(err, rowlock.ErrUnavailable) && time.Now().Before(end); {
			lease, err = l.Acquire(t.Context(), ttl.String(), rowlock.TTL(ttl)) // with a TTL of a second, a slow machine may need another attempt
		}
		require.NoError(t, err)
		require.NoError(t, lease.Err())
	}
	require.LessOrEqual(t, connections(t, addr), 17) // the number of lengths of one second or more
}

// New refuses a Root that may be below the locks of another Root, because its nodes would be in the queues of those
// locks.
func TestARootInsideAnothersLocks(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{"/rowlock/locks", "/rowlock/locks/app", "/rowlock/locks-ns/app", "/a/b/locks-", "/locks/a/locks/b"} {
		_, err := rowlock.New(zklock.New([]string{"zk1"}, zklock.Root(inside)))
		require.ErrorContains(t, err, "Root", inside)
	}
	for _, outside := range []string{"/locks", "/locks-of-app/rowlock", "/rowlock/lockstep", "/rowlock/app"} {
		_, err := rowlock.New(zklock.New([]string{"zk1"}, zklock.Root(outside)))
		require.NoError(t, err, outside)
	}
}

// When a locker is closed, a session without locks and waiters ends. The next lock then gets a new session. A session
// with locks stays.
func TestIdleSessionsEnd(t *testing.T) {
	addr := clearing.alone(t).Addr
	b := open(t, []string{addr}, root())
	kept, err := lockerOn(t, b, rowlock.TTL(10*time.Second)).Acquire(t.Context(), "kept")
	require.NoError(t, err)
	for range 3 {
		l, err := rowlock.New(b)
		require.NoError(t, err)
		lease, err := l.Acquire(t.Context(), "a", rowlock.TTL(time.Minute))
		require.NoError(t, err)
		require.Equal(t, 2, connections(t, addr))
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, l.Close())
		require.Eventually(t, func() bool { return connections(t, addr) == 1 }, 20*time.Second, 5*time.Millisecond)
	}
	_, err = b.List(t.Context(), "", true)
	require.NoError(t, err)
	require.NoError(t, kept.Renew(t.Context()))
	require.NoError(t, kept.Release(t.Context()))
}

// rowlock.New refuses a server that is not a host:port or a host. ZooKeeper's own clients accept a list of servers and
// a root in one string. Without the check, this backend would try again and again to resolve such a string as a host
// name.
func TestServersThatAreNoAddress(t *testing.T) {
	t.Parallel()
	for _, servers := range [][]string{
		{"zk1:2181/app"}, {"zk1/app"}, {"zk1:2181,zk2:2181"}, {"zk1,zk2"}, {"zk1:2181", "zk2:2181/app"}, {"zk://zk1"}, {""}, {":2181"}, {"zk1:"},
		{"zk1:zookeeper"}, {"zk1:0"}, {"zk1:65536"}, {" zk1"}, {"u:p@zk1:2181"}, {},
	} {
		_, err := rowlock.New(zklock.New(servers))
		require.ErrorContains(t, err, "zklock: server", "%q", servers)
	}
	_, err := rowlock.New(zklock.New([]string{"zk1:2181/app"}))
	require.ErrorContains(t, err, "Root")
	_, err = rowlock.New(zklock.New([]string{"zk1:2181,zk2:2181"}))
	require.ErrorContains(t, err, "each")
	for _, servers := range [][]string{{"zk1"}, {"zk1:2181", "10.0.0.1"}, {"[::1]:2181"}, {"zk_1.internal:65535"}} {
		_, err := rowlock.New(zklock.New(servers))
		require.NoError(t, err, "%q", servers)
	}
}
