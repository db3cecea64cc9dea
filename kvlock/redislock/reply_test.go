package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// If the reply to a request is lost, the server has still executed the request. When go-redis or the caller repeats the
// request, the repetition gets the same answer as the first attempt. Meanwhile, no other request is granted the name.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	other := redislock.New(redistest.Connect(t, addr))
	for fate, then := range map[string]faultproxy.AfterDrop{"reset": faultproxy.Reset, "hang": faultproxy.Hang} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			p, err := faultproxy.New(addr)
			require.NoError(t, err)
			t.Cleanup(p.Close)
			c := redis.NewClient(&redis.Options{Addr: p.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: 1})
			t.Cleanup(func() { _ = c.Close() })
			b := redislock.New(c)
			renew := func(ctx context.Context, g driver.Grant) ([]driver.Outcome, error) {
				return b.Renew(ctx, []driver.Grant{g})
			}
			warm := redistest.Acquire(t, b, redistest.Request("warm"+fate)) // opens the connection and loads the scripts
			_, err = renew(t.Context(), warm)
			require.NoError(t, err)
			require.NoError(t, b.Release(t.Context(), warm))
			lose := func(once func(context.Context) error) {
				t.Helper()
				p.DropReplies(1, then)
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				err := once(ctx)
				require.Error(t, err)
				assert.False(t, driver.IsNotApplied(err), "%v", err)
				assert.NotErrorIs(t, err, driver.ErrNotHeld)
			}

			r := redistest.Request(fate)
			lose(func(ctx context.Context) error { _, err := b.Acquire(ctx, r); return err })
			var held *driver.Held
			_, err = other.Acquire(t.Context(), redistest.Request(fate))
			require.ErrorAs(t, err, &held)
			g := redistest.Acquire(t, b, r)
			assert.Equal(t, held.Token, g.Token)

			g.TTL = time.Minute
			lose(func(ctx context.Context) error { _, err := renew(ctx, g); return err })
			assert.Greater(t, leftOf(t, other, fate), 30*time.Second)
			outcomes, err := renew(t.Context(), g)
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)

			lose(func(ctx context.Context) error { return b.Release(ctx, g) })
			require.NoError(t, b.Release(t.Context(), g))
			next := redistest.Acquire(t, other, redistest.Request(fate))
			assert.Greater(t, next.Token, g.Token)
			require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld)
		})
	}
}
