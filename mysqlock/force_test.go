package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A forced release whose connection ends by itself, between the look at who holds the lock and the KILL, goes on: the
// holder is to be fenced all the same.
func TestAConnectionThatEndsBeforeItIsKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		require.NoError(t, b.look(limited(t), func(c *conn) error { return b.kill(limited(t), c, 1<<31) }))
		idle(t, b)
	})
}
