package redlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// Nodes whose memory is full grant no new locks. Held locks can still be renewed and released.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, _ := f.client(t, steadily)
	kept, ended := redistest.Acquire(t, b, redistest.Request("kept")), redistest.Acquire(t, b, redistest.Request("ended"))
	b.Settle()
	for _, node := range f.raw {
		require.NoError(t, node.ConfigSet(ctx, "maxmemory", "100kb").Err()) // this is less than the server needs without any keys
	}
	_, err := b.Acquire(ctx, redistest.Request("new"))
	require.ErrorContains(t, err, "OOM")
	assert.False(t, driver.IsPermanent(err))
	outcomes, err := b.Renew(ctx, []driver.Grant{kept, ended})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
	require.NoError(t, b.Release(ctx, kept))
	require.NoError(t, b.ForceRelease(ctx, ended.Key, ended.Token, true))
}
