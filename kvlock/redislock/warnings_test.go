package redislock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// After the first operation, the capabilities have warnings about settings with which the server may lose locks. The
// warnings say what to set. A server with those settings causes no warnings.
func TestWarnings(t *testing.T) {
	t.Parallel()
	warned := func(b *redislock.Backend) []string {
		l := redistest.LockerOn(t, b)
		assert.Empty(t, l.Capabilities().Warnings, "the first call has not been made")
		_, err := b.Inspect(t.Context(), driver.Key{Name: "x"})
		require.NoError(t, err)
		return l.Capabilities().Warnings
	}
	c := redistest.Connect(t, redistest.Start(t).Addr)
	set := func(name, value string) {
		t.Helper()
		require.NoError(t, c.ConfigSet(t.Context(), name, value).Err())
	}
	if w := warned(redislock.New(c)); assert.Len(t, w, 1) {
		assert.Contains(t, w[0], "the server keeps no append-only file")
	}
	set("appendonly", "yes")
	if w := warned(redislock.New(c)); assert.Len(t, w, 1) {
		assert.Contains(t, w[0], "appendfsync everysec")
	}
	set("appendfsync", "always")
	assert.Empty(t, warned(redislock.New(c)))
	replicated := redislock.Replicated(1, 10*time.Millisecond)
	if w := warned(redislock.New(c, replicated)); assert.Len(t, w, 1) {
		assert.Contains(t, w[0], "min-replicas-to-write")
	}
	set("maxmemory-policy", "volatile-lru")
	if w := warned(redislock.New(c, redislock.AllowEviction())); assert.Len(t, w, 1) {
		assert.Contains(t, w[0], "volatile-lru")
	}
	set("maxmemory-policy", "noeviction")
	set("appendonly", "no") // rewriting the append-only file would delay the replica

	replica := redistest.Connect(t, redistest.Start(t).Addr)
	require.NoError(t, replica.ReplicaOf(t.Context(), "127.0.0.1", c.Options().Addr[len("127.0.0.1:"):]).Err())
	awaitReplica(t, c)
	if w := warned(redislock.New(c)); assert.Len(t, w, 2) {
		assert.Contains(t, w[0], "has replicas (1)")
	}
	set("min-replicas-to-write", "1")
	assert.Len(t, warned(redislock.New(c, redislock.Replicated(1, 2*time.Second))), 1)
}
