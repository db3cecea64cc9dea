package redislock_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// Waiters for fifty names share one connection. A release wakes only the waiters for its name. The connection is closed
// when the last waiter stops.
func TestManyNamesShareOneSubscription(t *testing.T) {
	t.Parallel()
	const names = 50
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b, other := redislock.New(c), redislock.New(c)
	waiters, twins := listen(t, b, names), listen(t, b, names)
	require.Eventually(t, func() bool { // waits until the server has removed the subscription to "last"
		open := subscriptions(t, c)
		return len(open) == 1 && strings.Contains(open[0], fmt.Sprintf(" sub=%d ", names+1))
	}, redistest.AtMost, time.Millisecond, "one connection, with a channel for each name and that of the process")
	for _, name := range []string{"7", "8"} { // messages arrive in order, so after a message for "8" no message for "7" arrives
		require.NoError(t, other.Release(t.Context(), redistest.Acquire(t, other, redistest.Request(name))))
	}
	for _, i := range []int{8, 7} {
		waiters[i].await(t, "of a release")
		twins[i].await(t, "of a release, with two listeners")
	}
	for i, w := range waiters {
		assert.Empty(t, w.woken, i)
		w.stop()
	}
	require.NoError(t, other.Release(t.Context(), redistest.Acquire(t, other, redistest.Request("9"))))
	twins[9].await(t, "after the first listener was stopped")
	for _, w := range twins {
		w.stop()
	}
	require.Eventually(t, func() bool { return len(subscriptions(t, c)) == 0 }, redistest.AtMost, time.Millisecond)
	listen(t, b, 1)
}

// If the subscription's connection breaks or no longer answers, the backend opens a new connection. It then wakes all
// waiters, because notifications may have been lost. After that, releases wake them again.
func TestReconnectWakesAllWaiters(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(p *faultproxy.Proxy, server *redis.Client, dialled *atomic.Int64){
		"reset": func(p *faultproxy.Proxy, _ *redis.Client, _ *atomic.Int64) { p.Reset() },
		"killed by the server": func(_ *faultproxy.Proxy, server *redis.Client, _ *atomic.Int64) {
			server.ClientKillByFilter(context.Background(), "TYPE", "pubsub")
		},
		"black hole": func(p *faultproxy.Proxy, _ *redis.Client, dialled *atomic.Int64) {
			before := dialled.Load()
			p.Cut()
			assert.Eventually(t, func() bool { return dialled.Load() > before }, 3*redistest.AtMost, time.Millisecond, "the backend notices the silent connection")
			p.Restore()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			p, err := faultproxy.New(s.Addr)
			require.NoError(t, err)
			t.Cleanup(p.Close)
			var dialled atomic.Int64
			through := redis.NewClient(&redis.Options{
				Addr: p.Addr(), ReadTimeout: 300 * time.Millisecond,
				Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
					dialled.Add(1)
					return new(net.Dialer).DialContext(ctx, network, addr)
				},
			})
			t.Cleanup(func() { _ = through.Close() })
			far := redislock.New(through)
			far.Times().Silence = time.Second
			waiters, direct := listen(t, far, 20), redistest.Connect(t, s.Addr)
			fail(p, direct, &dialled)
			for i, w := range waiters {
				w.await(t, fmt.Sprint("reconnected, name ", i))
			}
			b := redislock.New(direct)
			require.NoError(t, b.Release(t.Context(), redistest.Acquire(t, b, redistest.Request("7"))))
			waiters[7].await(t, "of a release")
		})
	}
}
