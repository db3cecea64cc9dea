package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// The server remembers a lock that was not released for the time that the option Retention sets. That time starts at
// the latest possible end of the lease. The server remembers a released lock for five minutes. Each operation sets the
// expiry of the key again, and no key is left without an expiry.
func TestRetention(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	const retention, hour = 48 * time.Hour, time.Hour
	b := redislock.New(c, redislock.Retention(retention))
	key := redislock.DefaultPrefix + ":x"
	lives := func(want time.Duration, why string) {
		t.Helper()
		assert.InDelta(t, want.Minutes(), c.PTTL(ctx, key).Val().Minutes(), 1, why)
		require.NoError(t, c.Persist(ctx, key).Err())
	}
	r := redistest.Request("x")
	r.TTL, r.HandoverDelay = hour, hour
	g := redistest.Acquire(t, b, r)
	lives(retention+2*hour, "acquired")
	g.TTL = 2 * hour
	_, err := b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	lives(retention+3*hour, "renewed")
	g.MinHold = 5 * hour
	require.NoError(t, b.Release(ctx, g))
	lives(5*hour+5*time.Minute, "released, with a minimum hold")
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, false))
	lives(retention, "released by force")
	_, err = b.Inspect(ctx, g.Key)
	require.NoError(t, err)
	assert.Negative(t, c.PTTL(ctx, key).Val(), "a query changes nothing")
}
