package mysqlock

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// List returns locks that any process holds or has held. It returns the names that callers gave to these locks, and
// never the server's hashes. If a listed lock is now held without a token, List returns the connection as its holder.
func TestListHasNames(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, other, plain := New(s.open(t)), New(s.open(t)), New(s.open(t), NoToken())
		held := grant(t, a, "Held ")
		for _, name := range []string{"free", "without a token"} {
			require.NoError(t, a.Release(limited(t), grant(t, a, name)))
		}
		grant(t, plain, "without a token")
		grant(t, plain, "held by this backend only")
		list, err := other.List(limited(t), "", true)
		require.NoError(t, err)
		require.Len(t, list, 3)
		for i, want := range []driver.Status{
			{Key: held.Key, State: driver.StateHeld, Token: held.Token, Holder: "tester", Note: "test"},
			{Key: driver.Key{Name: "free"}, State: driver.StateFree, Token: list[1].Token, Holder: "tester", Note: "test"},
			{Key: driver.Key{Name: "without a token"}, State: driver.StateHeld, Holder: list[2].Holder},
		} {
			list[i].Age = 0
			assert.Equal(t, want, list[i])
		}
		assert.Positive(t, list[1].Token)
		assert.Regexp(t, fmt.Sprintf(`^connection %d of root from .`, s.holds(t, "without a token")), list[2].Holder)

		mine, err := plain.List(limited(t), "", true)
		require.NoError(t, err)
		require.Len(t, mine, 2)
		assert.Equal(t, "held by this backend only", mine[0].Key.Name)
		assert.Equal(t, "without a token", mine[1].Key.Name)
	})
}
