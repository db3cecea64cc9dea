package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A user whose only right is to read and write below the prefix can do all that a backend does; one
// without it is told so at once, and not that the store is silent.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	s := alone(t)
	root := connect(t, s.DSN)
	ctx := t.Context()
	must := func(_ any, err error) { require.NoError(t, err) }
	must(root.UserAdd(ctx, "root", "r"))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.RoleAdd(ctx, "locks"))
	must(root.RoleGrantPermission(ctx, "locks", "rowlock/", clientv3.GetPrefixRangeEnd("rowlock/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	for _, name := range []string{"app", "stranger"} {
		must(root.UserAdd(ctx, name, "p"))
	}
	must(root.UserGrantRole(ctx, "app", "locks"))
	must(root.AuthEnable(ctx))
	as := func(name string) *clientv3.Client {
		c := config(s.DSN)
		c.Username, c.Password = name, "p"
		client, err := clientv3.New(c)
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}

	client := as("app")
	b := etcdlock.New(client)
	l := lockerOn(t, b, rowlock.TTL(2*time.Second))
	lease, err := l.Acquire(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, lease.Renew(ctx))
	waits := make(chan error, 1)
	go func() {
		next, err := lockerOn(t, etcdlock.New(client)).Acquire(ctx, "a")
		if err == nil {
			err = next.Release(context.Background())
		}
		waits <- err
	}()
	require.Eventually(t, func() bool {
		reply, err := client.Get(ctx, "rowlock/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && reply.Count == 2
	}, 10*time.Second, 5*time.Millisecond)
	list, err := b.List(ctx, "", true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Positive(t, list[0].ExpiresIn)
	require.NoError(t, b.ForceRelease(ctx, driver.Key{Name: "a"}, lease.Token(), true))
	require.NoError(t, <-waits)
	require.ErrorIs(t, lease.Release(ctx), rowlock.ErrLost)
	_, err = client.Put(ctx, "elsewhere", "x")
	require.Error(t, err)

	_, err = etcdlock.New(as("stranger")).Acquire(ctx, request("a"))
	require.True(t, driver.IsPermanent(err), "%v", err)
	_, err = lockerOn(t, etcdlock.New(as("stranger"))).Acquire(ctx, "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.False(t, errors.Is(err, rowlock.ErrHeld))
}
