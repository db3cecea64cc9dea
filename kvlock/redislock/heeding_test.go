package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// With ContextTimeoutEnabled, the first request to a server that hangs ends at its deadline. Until the server answers
// again, later requests also end when their ctx is cancelled, long before their deadline.
func TestAServerThatHangsIsNotWaitedForTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	proxy, err := faultproxy.New(redistest.Start(t).Addr)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: true, ReadTimeout: -1, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	b := redislock.New(client)
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for range 2 { // in the second round, the requests run without a goroutine of their own, because the server has answered
		g, err := b.Acquire(bounded, redistest.Request("x"))
		require.NoError(t, err)
		require.NoError(t, b.Release(bounded, g))
	}
	proxy.Cut()
	const soon = 10 * time.Second // long enough for a slow machine
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = b.Acquire(short, redistest.Request("x"))
	require.Error(t, err)
	assert.Less(t, time.Since(began), soon)

	cancelled, cancel := context.WithTimeout(ctx, 2*soon)
	time.AfterFunc(100*time.Millisecond, cancel)
	began = time.Now()
	_, err = b.Acquire(cancelled, redistest.Request("x"))
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(began), soon)

	proxy.Restore()
	for range 2 {
		require.NoError(t, b.Release(bounded, redistest.Acquire(t, b, redistest.Request("y"))))
	}
}
