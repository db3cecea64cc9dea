package redislock_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// The server keeps a recorded tick, whatever happens to the lock afterwards, until the lock is pruned. Otherwise the job
// of a tick would run again after the retention.
func TestATickIsKeptUntilItIsPruned(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	addr := redistest.Start(t).Addr
	open := opener(t, addr)
	c := open()
	b := redislock.New(c, redislock.Retention(redislock.MinRetention))
	const tick = "2026-11-01T00:00:00Z"
	kept := func(why string) {
		t.Helper()
		assert.Greater(t, c.PTTL(ctx, job).Val(), driver.Endless/2, why)
		s, err := b.Inspect(ctx, driver.Key{Name: "job"})
		require.NoError(t, err)
		assert.Equal(t, tick, s.Done, why)
	}
	granted := func() driver.Grant {
		t.Helper()
		g := redistest.Acquire(t, b, redistest.Request("job"))
		assert.Equal(t, tick, g.Done)
		kept("granted")
		g.Done = ""
		return g
	}

	r := redistest.Request("job")
	r.MinHold = time.Millisecond // a minimum hold changes how long the server remembers a lock
	g := redistest.Acquire(t, b, r)
	require.Empty(t, g.Done)
	assert.Less(t, c.PTTL(ctx, job).Val(), 2*redislock.MinRetention)
	g.Done = tick
	for _, why := range []string{"recorded", "recorded by a repeated release"} {
		require.NoError(t, b.Release(ctx, g))
		kept(why)
	}
	require.Eventually(t, func() bool {
		s, err := b.Inspect(ctx, g.Key)
		return err == nil && s.State == driver.StateFree
	}, redistest.AtMost, time.Millisecond)

	g = granted()
	outcomes, err := b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	kept("renewed")
	g, err = b.HandOver(ctx, g, redistest.Request("job"))
	require.NoError(t, err)
	assert.Equal(t, tick, g.Done, "the grant of a hand-over")
	kept("handed over")
	g.Done = ""

	p := line(t, 1, open)[0]
	require.NoError(t, b.Release(ctx, g))
	kept("released to a waiter")
	p.called(t)
	stretch(t, c)
	g = p.take(t)
	assert.Equal(t, tick, g.Done, "the grant of a waiter")
	g.Done = ""
	p.stop()
	require.NoError(t, p.Release(ctx, g))
	kept("released without a tick")

	g = granted()
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
	kept("released by force")
	g = granted()
	require.NoError(t, b.Pause(ctx, g, driver.NewNonce()))
	kept("paused")
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
	kept("resumed")

	n, err := b.Prune(ctx, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Empty(t, redistest.Acquire(t, b, redistest.Request("job")).Done, "pruned")
	assert.Less(t, c.PTTL(ctx, job).Val(), 2*redislock.MinRetention)
}

// With Replicated, a release with a tick succeeds only if enough replicas have confirmed the tick. Until then, a
// repeated release also has an unknown outcome.
func TestATickIsConfirmedByReplicas(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := redistest.Start(t)
	c := redistest.Connect(t, s.Addr)
	between, err := faultproxy.New(s.Addr)
	require.NoError(t, err)
	t.Cleanup(between.Close)
	host, port, err := net.SplitHostPort(between.Addr())
	require.NoError(t, err)
	replica := redistest.Connect(t, redistest.Start(t).Addr)
	require.NoError(t, replica.ReplicaOf(ctx, host, port).Err())
	awaitReplica(t, c)
	b := redislock.New(c, redislock.Replicated(1, 2*time.Second)) // see awaitReplica
	one, two := redistest.Acquire(t, b, redistest.Request("one")), redistest.Acquire(t, b, redistest.Request("two"))
	one.Done, two.Done = "first", "first"
	require.NoError(t, b.Release(ctx, one))
	assert.Equal(t, "first", replica.HGet(ctx, redislock.DefaultPrefix+":one", "done").Val())

	between.Cut()
	short := redislock.New(c, redislock.Replicated(1, 100*time.Millisecond))
	for range 2 {
		err = short.Release(ctx, two)
		require.ErrorContains(t, err, "0 of 1 replicas confirmed the tick")
		assert.NotErrorIs(t, err, driver.ErrNotHeld)
		assert.False(t, driver.IsNotApplied(err))
	}
	_, err = short.Acquire(ctx, redistest.Request("two"))
	require.ErrorContains(t, err, "the grant was released", "the release of a grant needs no replicas, although the lock has a tick")
	assert.True(t, driver.IsNotApplied(err))
}
