package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
)

// Another run of the server made the last tokens, and their numbers are ahead of the server's counter and of its clock.
// That is so after a restart with the clock set back, and after a failover to a server that was started earlier. The
// next token is still larger than all tokens that were reserved.
func TestTokensRiseWhenTheClockIsSetBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		b.locks.Linger = 0 // each acquire reads the mint again
		first := grant(t, b, "a")
		require.NoError(t, b.Release(limited(t), first))
		for _, change := range []string{
			"run = 'another server'",
			"number = number + 3600 * 16777216", // this server, started in the same second, when its counter was further
		} {
			_, err := s.raw.Exec("UPDATE rowlock_lease_mint SET reserved = reserved + 3600000000, " + change)
			require.NoError(t, err)
			second, beside := grant(t, b, "a"), grant(t, b, "beside")
			assert.Greater(t, second.Token, first.Token+3600000000)
			assert.Less(t, second.Token, first.Token+3700000000)
			assert.Greater(t, beside.Token, second.Token)
			require.NoError(t, b.Release(limited(t), second))
			require.NoError(t, b.Release(limited(t), beside))
			first = second
		}
	})
}

// A backup restores an old row of the mint. The next token is above the server's clock, and so above the tokens that
// were granted after the backup.
func TestTokensRiseAfterARestore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		b.locks.Linger = 0
		first := grant(t, b, "a")
		require.NoError(t, b.Release(limited(t), first))
		_, err := s.raw.Exec("UPDATE rowlock_lease_mint SET run = '', number = 0, token = 0, reserved = 0")
		require.NoError(t, err)
		assert.Greater(t, grant(t, b, "a").Token, first.Token)
	})
}

// A session never grants a token that is not reserved. When the tokens that it knows as reserved run out, it reserves
// more. Other sessions of the same run need not know of that, and all tokens rise in the order of the grants.
func TestReservedTokensRunOut(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b, other := oneSession(s.open(t)), oneSession(s.open(t))
		keep, first := grant(t, b, "keep"), grant(t, other, "a") // the sessions stay, and do not read the mint again
		reserved := func() (n driver.Token) {
			require.NoError(t, s.raw.QueryRow("SELECT reserved FROM rowlock_lease_mint").Scan(&n))
			return n
		}
		b.locks.Sessions()[0].(*session).mint.reserved = int64(first.Token)
		before := reserved()
		second, third := grant(t, b, "b"), grant(t, other, "c")
		assert.Greater(t, second.Token, first.Token)
		assert.Greater(t, third.Token, second.Token)
		assert.Greater(t, reserved(), before)
		assert.GreaterOrEqual(t, reserved(), second.Token+reservedTokens)
		assert.Greater(t, grant(t, New(s.open(t)), "d").Token, third.Token)
		outcomes, err := b.Renew(limited(t), []driver.Grant{keep, second})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
	})
}

// The server makes the token's number after it has granted the lock, and not when the statement begins to wait.
func TestATokenIsMadeUnderTheLock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b, meanwhile := New(s.open(t)), New(s.open(t)), New(s.open(t))
		g := grant(t, a, "a")
		got, failed := s.waitFor(t, limited(t), b, request("a"))
		during := grant(t, meanwhile, "another name")
		require.NoError(t, a.Release(limited(t), g))
		next := contest.Granted(t, got, failed)
		assert.Greater(t, during.Token, g.Token)
		assert.Greater(t, next.Token, during.Token, "the waiter's statement began before")
		require.NoError(t, b.Release(limited(t), next))
	})
}

// If no token can be made after the lock was acquired, the backend releases the lock. The connection keeps its other
// locks.
func TestAFailedStatementLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t), Sessions(1))
		keep := grant(t, b, "keep")
		id := s.holds(t, "keep")
		require.Positive(t, id)
		b.locks.Sessions()[0].(*session).mint.reserved = 0
		_, err := s.raw.Exec("UPDATE rowlock_lease_mint SET run = 'another', reserved = 9223372036854775807")
		require.NoError(t, err)
		_, err = b.Acquire(limited(t), request("a"))
		require.ErrorIs(t, err, errNoTokens)
		assert.True(t, driver.IsPermanent(err))
		assert.Zero(t, s.holds(t, "a"), "the lock that was acquired before the error was released")
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

// Only a grant needs the mint. A request that is refused reads the holder and no other row, so that waiters that poll
// cost little.
func TestARefusedRequestReadsNoMint(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, b := New(s.open(t)), New(s.open(t))
		g := grant(t, a, "a")
		_, err := s.raw.ExecContext(limited(t), "RENAME TABLE rowlock_lease_mint TO away")
		require.NoError(t, err)
		_, err = b.Acquire(limited(t), request("a"))
		var held *driver.Held
		require.ErrorAs(t, err, &held)
		assert.Equal(t, g.Token, held.Token)
		require.NoError(t, a.Release(limited(t), g))
		_, err = b.Acquire(limited(t), request("a"))
		require.ErrorContains(t, err, "rowlock_lease_mint")
		assert.True(t, driver.IsPermanent(err))
		assert.Zero(t, s.holds(t, "a"), "the failed grant is undone")
	})
}
