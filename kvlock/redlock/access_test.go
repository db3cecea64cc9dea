package redlock_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

// With the rights that docs/redlock.md recommends, an account can use all functions of a backend. The nodes refuse none
// of its commands.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	recommended := redistest.Recommended(t, "../../docs/redlock.md")
	f := newFleet(t, 3)
	nodes := make([]*redis.Client, len(f.servers))
	for i, s := range f.servers {
		require.NoError(t, f.raw[i].Do(ctx, recommended...).Err())
		nodes[i], _ = redistest.AsLocks(t, s.Addr)
	}
	b := redlock.New(nodes, steadily)
	t.Cleanup(func() { _ = b.Close() })

	notified := make(chan struct{}, 1)
	stop, err := b.Notify(ctx, driver.Key{Name: "0"}, func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	g := redistest.Acquire(t, b, redistest.Request("0"))
	waiting := redistest.Request("0")
	waiting.Waiting = true
	var held *driver.Held
	_, err = b.Acquire(ctx, waiting)
	require.ErrorAs(t, err, &held)
	outcomes, err := b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	require.NoError(t, b.Release(ctx, g))
	<-notified
	g = redistest.Acquire(t, b, waiting)
	_, err = b.Acquire(ctx, redistest.Request("0"))
	require.ErrorAs(t, err, &held)
	all, err := b.List(ctx, "", true)
	require.NoError(t, err)
	assert.Len(t, all, 1)
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
	stop()
	_, err = b.Prune(ctx, 0)
	require.NoError(t, err)
	b.Settle()
	for _, admin := range f.raw {
		refused, err := admin.ACLLog(ctx, 10).Result()
		require.NoError(t, err)
		assert.Empty(t, refused)
	}
}
