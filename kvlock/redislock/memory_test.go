package redislock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// If the server's memory is full, Acquire fails with an error that says so. Held locks and shares can be renewed and
// released. A writer that waits for readers still gets a refusal that names them, and not an error.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	kept, ended := redistest.Acquire(t, b, redistest.Request("kept")), redistest.Acquire(t, b, redistest.Request("ended"))
	reading := []driver.Request{redistest.Request("read"), redistest.Request("read"), redistest.Request("read")}
	shares := make([]driver.Grant, len(reading))
	for i := range reading {
		reading[i].Shared = true
		shares[i] = redistest.Acquire(t, b, reading[i])
	}
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "100kb").Err()) // this is less than the server needs without any keys
	_, err := b.Acquire(ctx, redistest.Request("new"))
	require.ErrorContains(t, err, "OOM")
	assert.False(t, driver.IsPermanent(err))
	outcomes, err := b.Renew(ctx, []driver.Grant{kept, ended})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
	writing := redistest.Request("read")
	writing.Waits = true
	var held *driver.Held
	_, err = b.Acquire(ctx, writing)
	require.ErrorAs(t, err, &held)
	assert.Equal(t, len(shares), held.Readers)
	join := redistest.Request("read")
	join.Shared = true
	_, err = b.Acquire(ctx, join)
	require.ErrorContains(t, err, "OOM")
	outcomes, err = b.Renew(ctx, shares)
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed, driver.Renewed}, outcomes, "the failed request has changed no share")
	for _, g := range shares {
		require.NoError(t, b.Release(ctx, g))
	}
	require.NoError(t, b.Release(ctx, kept))
	require.NoError(t, b.ForceRelease(ctx, ended.Key, ended.Token, true))
}

// With AllowEviction, a server whose memory is full can evict a held lock, and then grant it again with a larger token.
func TestEvictionLosesLocks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t, "--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random").Addr)
	b := redislock.New(c, redislock.AllowEviction())
	first := redistest.Acquire(t, b, redistest.Request("x"))
	for range 10_000 {
		require.NoError(t, c.Set(ctx, driver.NewNonce().String(), strings.Repeat("x", 10_000), 0).Err())
		if c.Exists(ctx, redislock.DefaultPrefix+":x").Val() == 0 {
			break
		}
	}
	second := redistest.Acquire(t, b, redistest.Request("x"))
	assert.Greater(t, second.Token, first.Token)
	outcomes, err := b.Renew(ctx, []driver.Grant{first})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost}, outcomes)
}
