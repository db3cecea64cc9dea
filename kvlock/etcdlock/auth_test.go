package etcdlock_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A user who may only read and write below the prefix can use all functions of a backend. A user without that right
// immediately gets an error about the missing right, not a timeout. The connections use TLS.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	s, ctx := newSecured(t), t.Context()
	client := s.as(t, "app", "p")
	b := etcdlock.New(client)
	lease, err := lockerOn(t, b).Acquire(ctx, "a")
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
		reply, err := client.Get(ctx, b.Queue(driver.Key{Name: "a"}), clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && reply.Count == 2
	}, 30*time.Second, 5*time.Millisecond)
	list, err := b.List(ctx, "", true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Positive(t, list[0].ExpiresIn)
	require.NoError(t, b.ForceRelease(ctx, driver.Key{Name: "a"}, lease.Token(), true))
	require.NoError(t, <-waits)
	require.ErrorIs(t, lease.Release(ctx), rowlock.ErrLost)
	reader, err := lockerOn(t, b).Acquire(ctx, "b", rowlock.Shared())
	require.NoError(t, err)
	require.NoError(t, reader.Release(ctx))
	_, err = client.Put(ctx, "elsewhere", "x")
	require.Error(t, err)

	_, err = etcdlock.New(s.as(t, "stranger", "p")).Acquire(ctx, request("a"))
	require.True(t, driver.IsPermanent(err), "%v", err)
	_, err = lockerOn(t, etcdlock.New(s.as(t, "stranger", "p"))).Acquire(ctx, "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.NotErrorIs(t, err, rowlock.ErrHeld)
}

// Renewals do not authenticate, because each authentication costs a password hash and a commit.
func TestRenewalsDoNotAuthenticate(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	b := etcdlock.New(s.as(t, "app", "p"))
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	before := metric(t, s.DSN, commits)
	for range 50 {
		outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	}
	assert.InDelta(t, 0, metric(t, s.DSN, commits)-before, 3)
}

// If the client does not trust the server's certificate, TryAcquire fails with ErrUnavailable, and not with ErrHeld.
func TestAnUntrustedServerIsUnavailable(t *testing.T) {
	t.Parallel()
	s := &secured{Server: newSecured(t).Server, trust: new(tls.Config)}
	_, err := lockerOn(t, etcdlock.New(s.as(t, "", "")), rowlock.TTL(time.Second)).TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.NotErrorIs(t, err, rowlock.ErrHeld)
}
