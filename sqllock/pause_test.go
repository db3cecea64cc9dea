package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A pause does not lengthen the quarantine after a change of server. Prune does not delete a paused lock. While a
// lock is paused, InTx is refused. In the table, a paused lock looks like a held lock.
func TestPauseIsARowThatStays(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		g := acquire(t, b, request("job"))
		longest := s.int(t, "SELECT longest_ttl_us FROM rowlock_lease_meta")
		require.NoError(t, b.Pause(t.Context(), g, driver.NewNonce()))
		assert.Equal(t, longest, s.int(t, "SELECT longest_ttl_us FROM rowlock_lease_meta"))
		s.grow(t, 365*24*time.Hour)
		h := refused(t, b, request("job"))
		assert.Equal(t, driver.Paused, h.Reason)
		assert.Zero(t, h.ExpiresIn)
		pruned, err := b.Prune(t.Context(), 0)
		require.NoError(t, err)
		assert.Zero(t, pruned)
		tx := s.begin(t)
		assert.Equal(t, driver.Paused, held(t, b.InTx(t.Context(), tx, "job")).Reason)
		require.NoError(t, tx.Rollback())
		assert.Equal(t, int64(1), s.int(t, "SELECT count(*) FROM rowlock_lease WHERE nonce IS NOT NULL AND note = '"+request("job").Note+"'"))
		require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, true))
		assert.Greater(t, acquire(t, b, request("job")).Token, g.Token)
	})
}
