package etcdlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// If a waiter's user loses the right to read the queue, the waiter still deletes its entry. Otherwise the entry would
// block other waiters for as long as other locks keep the session alive.
func TestAWaiterThatIsRefusedLeavesTheQueue(t *testing.T) {
	t.Parallel()
	s, ctx := newSecured(t), t.Context()
	root, app := s.as(t, "root", "r"), etcdlock.New(s.as(t, "app", "p"))
	held, err := etcdlock.New(root).Acquire(ctx, request("a"))
	require.NoError(t, err)
	r := request("a")
	ended := make(chan error, 1)
	go func() { _, err := inQueue(app, ctx, r); ended <- err }()
	entries := func() int64 {
		reply, err := root.Get(ctx, app.Queue(r.Key), clientv3.WithPrefix(), clientv3.WithCountOnly())
		require.NoError(t, err)
		return reply.Count
	}
	require.Eventually(t, func() bool { return entries() == 2 && metric(t, s.DSN, watches) == 2 }, 20*time.Second, 5*time.Millisecond)
	_, err = root.RoleRevokePermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"))
	require.NoError(t, err)
	_, err = root.RoleGrantPermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"), clientv3.PermissionType(clientv3.PermWrite))
	require.NoError(t, err)
	require.NoError(t, etcdlock.New(root).ForceRelease(ctx, held.Key, held.Token, true))
	err = <-ended
	require.True(t, driver.IsPermanent(err), "%v", err)
	require.Zero(t, entries())
}
