package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// If the server's clock was set back since the last grant, the next token is still larger. The test covers the first
// lock of a connection and a further lock.
func TestTokensRiseWhenTheClockIsSetBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t), Sessions(1))
		for _, beside := range []bool{false, true} {
			if beside {
				keep := grant(t, b, "keep")
				defer func() { _ = b.Release(limited(t), keep) }()
			}
			first := grant(t, b, "a")
			require.NoError(t, b.Release(limited(t), first))
			_, err := s.raw.Exec("UPDATE rowlock_lease_counter SET token = token + 3600000000 WHERE name = 'a'")
			require.NoError(t, err)
			second := grant(t, b, "a")
			assert.Equal(t, first.Token+3600000001, second.Token)
			require.NoError(t, b.Release(limited(t), second))
		}
	})
}

// If a statement fails after the lock was acquired, the backend releases the lock. The test covers both statements
// that make tokens. The connection keeps its other locks.
func TestAFailedStatementLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t), Sessions(1))
		require.NoError(t, b.Release(limited(t), grant(t, b, "a")))
		_, err := s.raw.Exec("UPDATE rowlock_lease_counter SET token = 9223372036854775807 WHERE name = 'a'")
		require.NoError(t, err)
		fails := func() {
			t.Helper()
			_, err := b.Acquire(limited(t), request("a"))
			require.ErrorContains(t, err, "out of range")
			assert.True(t, driver.IsNotApplied(err))
			assert.Zero(t, s.holds(t, "a"), "the lock that was acquired before the error was released")
		}
		fails()
		keep := grant(t, b, "keep")
		id := s.holds(t, "keep")
		fails()
		_, err = b.Renew(limited(t), []driver.Grant{keep})
		require.NoError(t, err)
		assert.Equal(t, id, s.holds(t, "keep"))
		require.NoError(t, b.Release(limited(t), keep))
		idle(t, b)
	})
}

// If an acquire is repeated with the same nonce, the backend returns the first grant only after the server has
// confirmed that the session still holds the lock.
func TestARepeatedAcquireIsProven(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b := New(s.open(t)), New(s.open(t))
		r := request("a")
		first, err := a.Acquire(limited(t), r)
		require.NoError(t, err)
		again, err := a.Acquire(limited(t), r)
		require.NoError(t, err)
		assert.Equal(t, first, again)
		s.unlock(t, a, "a")
		second := grant(t, b, "a")
		_, err = a.Acquire(limited(t), r)
		refused(t, err)
		require.NoError(t, b.Release(limited(t), second))
		idle(t, a)
	})
}
