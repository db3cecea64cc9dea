package etcdlock_test

import (
	"context"
	"sync"
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

// unanswered is a client for keys whose first deletion gets no answer. The deletion is not executed until the test does
// so.
type unanswered struct {
	clientv3.KV

	once *sync.Once
	key  chan string
}

func (u unanswered) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (reply *clientv3.DeleteResponse, err error) {
	first := false
	u.once.Do(func() { first = true })
	if !first {
		return u.KV.Delete(ctx, key, opts...)
	}
	u.key <- key
	<-ctx.Done()
	return nil, ctx.Err()
}

// A waiter gives up, and the deletion of its key gets no answer. A retry with the same nonce is granted the lock. If etcd
// then executes the deletion, the grant stays.
func TestALateDeletionEndsNoGrant(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	client := connect(t, server(t))
	late := make(chan string, 1)
	client.KV = unanswered{client.KV, new(sync.Once), late}
	b := etcdlock.New(client, n.prefix)
	held, err := n.watching.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	r := request("a")
	ctx, giveUp := context.WithCancel(t.Context())
	_, err = b.Await(ctx, r, func(*driver.Held) context.Context { giveUp(); return ctx })
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, driver.IsNotApplied(err), "%v", err)

	granted := make(chan result, 1)
	go func() {
		g, err := inQueue(b, t.Context(), r)
		granted <- result{g, err}
	}()
	require.NoError(t, n.watching.Release(t.Context(), held))
	require.Eventually(t, func() bool { return len(granted) == 1 || entries(t, n, r.Key) == 2 }, 10*time.Second, time.Millisecond)
	_, err = n.direct.Delete(t.Context(), <-late)
	require.NoError(t, err)
	g := <-granted
	require.NoError(t, g.err)
	outcomes, err := b.Renew(t.Context(), []driver.Grant{g.Grant})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	require.NoError(t, b.Release(t.Context(), g.Grant))
}
