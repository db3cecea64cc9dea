package etcdlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A node that is cut off from the others, and that clients reach, keeps no request: those who have it among their endpoints
// acquire, wait, renew and release by way of the others, however the client's turns fall.
func TestANodeWithoutALeaderIsPassed(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	alone := leader(t, c)
	majority := c.Nodes[0]
	if majority == alone {
		majority = c.Nodes[1]
	}
	b := etcdlock.New(connect(t, alone.DSN, majority.DSN), prefix())
	c.Isolate(alone)
	defer c.Rejoin()
	require.Eventually(t, func() bool {
		return metric(t, alone.DSN, leads) == 0 && metric(t, majority.DSN, leads) == 1
	}, 30*time.Second, 20*time.Millisecond)
	for i := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
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
