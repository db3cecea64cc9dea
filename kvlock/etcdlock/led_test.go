package etcdlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A node that is cut off from the others, and that clients reach, keeps no request: those who have it among their endpoints
// acquire, wait, renew and release by way of the others, however the client's turns fall.
func TestANodeWithoutALeaderIsPassed(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	alone := leader(t, c)
	c.Isolate(alone)
	defer c.Rejoin()
	var next *testserver.EtcdNode
	require.Eventually(t, func() bool {
		for _, n := range c.Nodes {
			if leads, err := n.Leads(t.Context()); n != alone && err == nil && leads {
				next = n
			}
		}
		return next != nil && metric(t, alone.DSN, leads) == 0
	}, 30*time.Second, 20*time.Millisecond)
	b := etcdlock.New(connect(t, alone.DSN, next.DSN), prefix())
	for i := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a node that keeps a request answers it with an error before
		defer cancel()
		r := request(fmt.Sprint(i))
		if i%2 == 0 {
			_, err := b.Acquire(ctx, request("other"+r.Key.Name)) // the turns fall the other way round
			require.NoError(t, err)
		}
		g, err := b.Acquire(ctx, r)
		require.NoError(t, err)
		again, err := inQueue(b, ctx, request("queue"+r.Key.Name))
		require.NoError(t, err)
		outcomes, err := b.Renew(ctx, []driver.Grant{g, again})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
		require.NoError(t, b.Release(ctx, g))
		require.NoError(t, b.Release(ctx, again))
	}
}
