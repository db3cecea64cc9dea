package fence_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
)

// Tokens of two locks, or of two stores, are never compared. The mark keeps the domain of the first lock.
// The error for the second lock contains the command that resets the mark.
func TestTokensOfTwoDomainsAreNotCompared(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease, other := s.lease(t, "job"), s.lease(t, "another")
		require.NoError(t, s.guard.Seal(t.Context(), lease, "r"))
		moved := s.engine.guard(s.db, fence.TokenDomain("new-server"))
		err := s.guard.Seal(t.Context(), other, "q", "r")
		require.ErrorIs(t, err, fence.ErrOtherDomain)
		require.NotErrorIs(t, err, fence.ErrStale)
		var domain *fence.OtherDomainError
		require.ErrorAs(t, err, &domain)
		assert.Equal(t, fence.OtherDomainError{Resource: "r", Domain: "memlock another", Sealed: "memlock job", Newest: lease.Token()}, *domain)
		require.ErrorContains(t, err, "rowlock fence reset")
		err = moved.Seal(t.Context(), s.lease(t, "job"), "q", "r")
		require.ErrorIs(t, err, fence.ErrOtherDomain)
		require.ErrorContains(t, err, `tokens of "new-server job"`)
		require.NoError(t, s.guard.Check(lease.Context(), s.begin(t, sql.LevelDefault), "r"), "nothing was written")
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence WHERE resource = 'r' AND domain = 'memlock job'"))
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	})
}

// A reset mark has no domain. It gets the domain of the next lease that seals.
func TestAMarkWithoutADomainTakesTheNextOne(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		old, newer := s.two(t)
		s.exec(t, "UPDATE rowlock_lease_fence SET domain = ''")
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		require.ErrorIs(t, s.guard.Seal(t.Context(), old), fence.ErrStale)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence WHERE domain = 'memlock r'"))
	})
}

// If the argument of TokenDomain is invalid, every call returns an error.
func TestDomainIsAName(t *testing.T) {
	for _, bad := range []string{"a b", "a\x00", "\xff", string(make([]byte, 65))} {
		require.ErrorContains(t, fence.SQLite(&sql.DB{}, fence.TokenDomain(bad)).Validate(), "fence: domain")
	}
}
