package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ForceRelease first queries the holder and then kills the holder's connection.
// If the connection ends between the two, ForceRelease still raises the token, so that the old holder is fenced.
func TestAConnectionThatEndsBeforeItIsKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		require.NoError(t, b.look(limited(t), func(c *conn) error { return b.kill(limited(t), c, 1<<31) }))
		idle(t, b)
	})
}
