package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// rowlock.New refuses invalid arguments with an error that names the option or the node.
func TestOptions(t *testing.T) {
	t.Parallel()
	node := func(addr string) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b, c := node("a:1"), node("b:1"), node("c:1")
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
	t.Cleanup(func() { _ = sentinel.Close() })
	three := []*redis.Client{a, b, c}
	for _, wrong := range []struct {
		nodes []*redis.Client
		opts  []redlock.Option
		says  string
	}{
		{nil, nil, "0 nodes"},
		{three[:1], nil, "1 nodes"},
		{three[:2], nil, "2 nodes"},
		{append(three[:3:3], node("d:1")), nil, "4 nodes"},
		{[]*redis.Client{a, nil, c}, nil, "node 2 is nil"},
		{[]*redis.Client{a, b, node("a:1")}, nil, "nodes 1 and 3 are both a:1"},
		{[]*redis.Client{a, b, sentinel}, nil, "node 3 is a client of Sentinel"},
		{three, []redlock.Option{redlock.MaxTTL(time.Millisecond)}, "MaxTTL"},
		{three, []redlock.Option{redlock.NodeTimeout(time.Microsecond)}, "NodeTimeout"},
		{three, []redlock.Option{redlock.NodeTimeout(time.Minute)}, "NodeTimeout"},
		{three, []redlock.Option{redlock.Prefix("")}, "Prefix"},
	} {
		_, err := rowlock.New(redlock.New(wrong.nodes, wrong.opts...))
		require.ErrorContains(t, err, wrong.says)
	}
	_, err := rowlock.New(redlock.New(three))
	require.NoError(t, err)
}

// A TTL longer than MaxTTL can never be granted. So rowlock.New refuses such a TTL, and each call with such a TTL fails
// without a request to any node.
func TestRefusesATTLBeyondMaxTTL(t *testing.T) {
	t.Parallel()
	var nodes []*redis.Client
	for _, addr := range []string{"a:1", "b:1", "c:1"} {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = c.Close() })
		nodes = append(nodes, c)
	}
	b := redlock.New(nodes, redlock.MaxTTL(10*time.Second))
	t.Cleanup(func() { _ = b.Close() })

	_, err := rowlock.New(b)
	require.ErrorContains(t, err, "TTL(30s)", "the default TTL is too long as well")
	require.ErrorContains(t, err, "MaxTTL of 10s")
	_, err = rowlock.New(b, rowlock.TTL(10*time.Second+1))
	require.ErrorContains(t, err, "MaxTTL of 10s")

	l, err := rowlock.New(b, rowlock.TTL(10*time.Second))
	require.NoError(t, err, "the longest TTL that nodes remember")
	t.Cleanup(func() { _ = l.Close() })
	_, err = l.TryAcquire(t.Context(), "a", rowlock.TTL(11*time.Second))
	require.ErrorContains(t, err, "TTL(11s)")
	require.NotErrorIs(t, err, rowlock.ErrUnavailable, "the option is wrong, not the store")
}

// If a server must not be a node, each call fails with a permanent error that contains the server's address and
// the reason.
func TestNodesThatAreNotFit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	twin, err := faultproxy.New(f.servers[0].Addr)
	require.NoError(t, err)
	t.Cleanup(twin.Close)
	replica := redistest.Start(t)
	require.NoError(t, redistest.Connect(t, replica.Addr).ReplicaOf(context.Background(), "127.0.0.1", "1").Err())
	for says, addr := range map[string]string{
		"the same server as": twin.Addr(),
		"replica":            replica.Addr,
		"maxmemory-policy":   redistest.Start(t, "--maxmemory-policy", "allkeys-lru").Addr,
		"part of a Cluster":  redistest.Start(t, "--cluster-enabled", "yes").Addr,
	} {
		nodes := []*redis.Client{redistest.Connect(t, f.servers[0].Addr), redistest.Connect(t, f.servers[1].Addr), redistest.Connect(t, addr)}
		r := redlock.New(nodes, steadily)
		for range 100 { // the answers of the other two nodes, which are a majority, must not come first
			_, err := r.Acquire(context.Background(), redistest.Request("x"))
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, addr)
			require.True(t, driver.IsPermanent(err))
		}
		require.NoError(t, r.Close())
	}
	b, _ := f.client(t, steadily)
	g, err := b.Acquire(context.Background(), redistest.Request("x"))
	require.NoError(t, err, "the refused call left nothing")
	require.NoError(t, b.Release(context.Background(), g))
}

// A request with a TTL longer than MaxTTL fails, and so does every call after Close. Close waits for running requests.
func TestRefusesCalls(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, _ := f.client(t, redlock.MaxTTL(10*time.Second))
	_, err := b.Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "MaxTTL")
	assert.True(t, driver.IsPermanent(err))
	require.NoError(t, b.Close())
	_, err = b.Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "closed")
	assert.True(t, driver.IsPermanent(err))
}
