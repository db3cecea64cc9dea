package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// Promise 5 of docs/guarantees.md: a repeated request, with the same nonce, returns the same token, whichever nodes
// answer first. Two of five nodes did not get the first request, and answer before the others. So these two nodes
// have no token yet, and perhaps already know a larger token of another name.
func TestARepeatedRequestReturnsTheTokenOfTheMajority(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 5)
	for name, top := range map[string]time.Duration{"nodes without the lease": 0, "nodes that know a larger token": time.Minute} {
		b, proxies := f.client(t, steadily)
		r := redistest.Request(name)
		first := redistest.Acquire(t, b, r)
		b.Settle()
		for _, i := range []int{3, 4} {
			require.NoError(t, f.raw[i].Del(ctx, f.row(name)).Err())
			require.NoError(t, f.raw[i].HSet(ctx, record, "top", time.Now().Add(top).UnixMicro()).Err())
		}
		for _, i := range []int{1, 2} {
			proxies[i].Delay(100 * time.Millisecond)
		}
		for range 3 {
			g, err := b.Acquire(ctx, r)
			require.NoError(t, err, name)
			assert.Equal(t, first, g, name)
			b.Settle()
		}
		outcomes, err := b.Renew(ctx, []driver.Grant{first})
		require.NoError(t, err, name)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes, name)
		b.Settle()
	}
}

// A release that is sent again while the first one still runs at slow nodes is sent to these nodes too.
func TestARepeatedReleaseIsSentToEachNode(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, proxies := f.client(t, steadily)
	g := redistest.Acquire(t, b, redistest.Request("x"))
	b.Settle()
	proxies[2].Delay(300 * time.Millisecond)
	require.NoError(t, b.Release(ctx, g))
	proxies[0].Cut()
	require.NoError(t, b.Release(ctx, g), "the slow node makes the majority")
}
