package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ForceRelease first queries which connection holds the lock, and then kills that connection. If the connection ends
// between these two steps, ForceRelease returns no error.
func TestAConnectionThatEndsBeforeItIsKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		require.NoError(t, b.look(limited(t), func(c *conn) error { return b.kill(limited(t), c, 1<<31) }))
		idle(t, b)
	})
}
