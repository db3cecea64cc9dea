package redislock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// With the rights that docs/redis.md recommends, an account can use all functions of a backend, and no keys outside its
// prefix. If a needed right is missing, the error names the right.
func TestLeastPrivileges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.Start(t)
	admin := redistest.Connect(t, s.Addr)
	grant := func(rights string) {
		t.Helper()
		args := []any{"ACL", "SETUSER"}
		for _, word := range strings.Fields(rights) {
			args = append(args, word)
		}
		require.NoError(t, admin.Do(ctx, args...).Err())
	}
	require.NoError(t, admin.Do(ctx, redistest.Recommended(t, "../../docs/redis.md")...).Err())
	c := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "locks", Password: "secret"})
	t.Cleanup(func() { _ = c.Close() })
	b := redislock.New(c)
	waiting := listen(t, b, 1)
	r := redistest.Request("0")
	g := redistest.Acquire(t, b, r)
	assert.Equal(t, g.Token, redistest.Acquire(t, b, r).Token, "the same request repeated")
	_, err := b.Acquire(ctx, redistest.Request("0"))
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	outcomes, err := b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	all, err := b.List(ctx, "", true)
	require.NoError(t, err)
	assert.Len(t, all, 1)
	require.NoError(t, b.Release(ctx, g))
	waiting[0].await(t, "of a release")
	g = redistest.Acquire(t, b, redistest.Request("0"))
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
	reading := redistest.Request("0")
	reading.Shared = true
	g = redistest.Acquire(t, b, reading)
	r = redistest.Request("0")
	r.Waits = true
	_, err = b.Acquire(ctx, r)
	require.ErrorAs(t, err, &held)
	outcomes, err = b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	require.NoError(t, b.Release(ctx, g))
	g = redistest.Acquire(t, b, redistest.Request("0"))
	require.NoError(t, b.Pause(ctx, g, driver.NewNonce()))
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
	_, err = b.Prune(ctx, 0)
	require.NoError(t, err)

	refused, err := admin.ACLLog(ctx, 10).Result()
	require.NoError(t, err)
	require.Len(t, refused, 1, "the server has refused a command, perhaps inside a script that ignores the error")
	assert.Equal(t, "config|get", refused[0].Object, "without this right, the account is not warned of appendfsync")
	_, err = redislock.New(c, redislock.Prefix("other:")).Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "the account needs")
	assert.True(t, driver.IsPermanent(err))
	grant("locks +wait +config|get")
	_, err = redislock.New(c, redislock.Replicated(1, 10*time.Millisecond)).Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "0 of 1 replicas")
	grant("locks -hdel")
	redistest.Acquire(t, b, redistest.Request("0"))
	r = redistest.Request("0")
	r.Waiting = true
	other := redislock.New(c)
	listen(t, other, 1)
	for _, waiter := range []*redislock.Backend{b, other} {
		_, err = waiter.Acquire(ctx, r)
		require.ErrorAs(t, err, &held)
	}
	require.NoError(t, admin.HSet(ctx, redislock.DefaultPrefix+":0", "held_until", "0", "expires_at", "0").Err())
	before := admin.HGetAll(ctx, redislock.DefaultPrefix+":0").Val()
	_, err = b.Acquire(ctx, r)
	require.ErrorContains(t, err, "HDEL")
	assert.True(t, driver.IsPermanent(err))
	assert.Equal(t, before, admin.HGetAll(ctx, redislock.DefaultPrefix+":0").Val(), "a failed request changes nothing")
	grant("locks -evalsha")
	_, err = redislock.New(c).Acquire(ctx, redistest.Request("x"))
	require.ErrorContains(t, err, "EVALSHA")
}

// If a server has the setting "appendfsync always", it does not lose locks when it crashes.
func TestADurableServerRemembers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	b := redislock.New(redistest.Connect(t, s.Addr))
	kept, released := redistest.Acquire(t, b, redistest.Request("kept")), redistest.Acquire(t, b, redistest.Request("released"))
	require.NoError(t, b.Release(ctx, released))
	s.Kill()
	require.NoError(t, s.Restart(ctx))
	outcomes, err := b.Renew(ctx, []driver.Grant{kept, released})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Lost}, outcomes)
	var held *driver.Held
	_, err = b.Acquire(ctx, redistest.Request("kept"))
	require.ErrorAs(t, err, &held)
	assert.Equal(t, kept.Token, held.Token)
	assert.Greater(t, redistest.Acquire(t, b, redistest.Request("released")).Token, released.Token)
}
