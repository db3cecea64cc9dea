package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// A node deletes a released lock after five minutes, like a server of package redislock. The token in the node's record
// is at least as large as the lock's token, even if the node never confirmed that grant.
func TestForgetsWhatIsReleased(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newFleet(t, 3)
	b, _ := f.client(t, steadily)
	var last driver.Token
	for range 3 {
		g := redistest.Acquire(t, b, redistest.Request("x"))
		assert.Greater(t, g.Token, last)
		b.Settle()
		require.NoError(t, f.raw[0].HSet(ctx, f.row("x"), "confirmed", "0").Err())
		require.NoError(t, f.raw[0].HSet(ctx, record, "top", "0").Err())
		require.NoError(t, b.Release(ctx, g))
		b.Settle()
		require.NoError(t, b.Release(ctx, g), "a repeated release after a lost reply")
		b.Settle()
		for _, node := range f.raw {
			redistest.Forget(t, node, f.row("x"))
			top, err := node.HGet(ctx, record, "top").Int64()
			require.NoError(t, err)
			assert.Equal(t, int64(g.Token), top)
			require.NoError(t, node.HSet(ctx, record, "top", top+time.Hour.Microseconds()).Err()) // makes the node's largest token larger than its clock, as after the clock was set back
		}
		last = g.Token + driver.Token(time.Hour.Microseconds())
	}
}
