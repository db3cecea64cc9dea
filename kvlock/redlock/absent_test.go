package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// split makes another client hold a name at one node. In a fleet of three, a request then needs the votes of both other
// nodes.
func (f *fleet) split(tb testing.TB, i int, name string) {
	tb.Helper()
	require.NoError(tb, f.raw[i].HSet(context.Background(), f.row(name), "nonce", "another", "token", 1, "holder", "another", "note", "",
		"acquired_at", 0, "expires_at", time.Now().Add(time.Hour).UnixMicro(), "held_until", time.Now().Add(time.Hour).UnixMicro(), "clock", 0, "confirmed", 1).Err())
}

// A node that was down before the client started delays only the client's first call. Later calls do not wait for this
// node, even if the other nodes' votes are split. When the node answers again, it votes.
func TestANodeThatWasDownBeforeTheClient(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, shortly)
	proxies[2].Cut()
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("first"))))
	f.split(t, 1, "x")
	began := time.Now()
	for range 20 {
		_, err := b.Acquire(ctx, redistest.Request("x"))
		var held *driver.Held
		require.ErrorAs(t, err, &held)
	}
	took := time.Since(began)
	t.Logf("20 split votes in %s", took)
	assert.Less(t, took, 20*time.Second, "if each call waited 2 s for the first contact, 20 calls would take 40 s")
	proxies[2].Restore()
	var g driver.Grant
	require.Eventually(t, func() bool {
		var err error
		g, err = b.Acquire(ctx, redistest.Request("x"))
		return err == nil
	}, redistest.AtMost, time.Millisecond, "the node was contacted, and its vote makes a majority")
	b.Settle()
	assert.Equal(t, g.Token.String(), f.raw[2].HGet(ctx, f.row("x"), "confirmed").Val())
}

// A node that was down at first turns out to be the same server as another node. Later calls then fail with the same
// error as a first call.
func TestAnUnfitNodeThatWasDown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	p, err := faultproxy.New(f.servers[0].Addr)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	p.Cut()
	nodes := []*redis.Client{redistest.Connect(t, f.servers[0].Addr), redistest.Connect(t, f.servers[1].Addr), redistest.Connect(t, p.Addr())}
	b := redlock.New(nodes, shortly)
	t.Cleanup(func() { _ = b.Close() })
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("first"))))
	p.Restore()
	require.Eventually(t, func() bool {
		g, err := b.Acquire(ctx, redistest.Request("x"))
		if err == nil {
			require.NoError(t, b.Release(ctx, g))
			return false
		}
		return assert.ErrorContains(t, err, "the same server")
	}, redistest.AtMost, time.Millisecond)
}

// If concurrent requests split the votes of the fast nodes, these requests do not wait for a slow node. Otherwise the
// lock would have no holder during that wait.
func TestASplitVoteWaitsForNoSlowNode(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 5)
	b, proxies := f.client(t, forLong, redlock.NodeTimeout(time.Minute))
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("x")))) // opens the connections first
	b.Settle()
	proxies[4].Cut()
	for _, i := range []int{0, 1} {
		f.split(t, i, "x")
		require.NoError(t, f.raw[i].HSet(ctx, f.row("x"), "acquired_at", time.Now().UnixMicro()).Err())
	}
	began := time.Now()
	_, err := b.Acquire(ctx, redistest.Request("x"))
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	assert.Less(t, time.Since(began), 40*time.Second, "a node may take a minute")
}
