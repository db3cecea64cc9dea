package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise 3: a backup that is put back does not bring tokens back: neither an old row nor a missing
// one makes a token that was granted before.
func TestTokensRiseOverARestoredBackup(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		for _, restore := range []string{
			"UPDATE rowlock_lease SET token = 1",
			"DELETE FROM rowlock_lease",
		} {
			before := acquire(t, b, request("job"))
			require.NoError(t, b.Release(t.Context(), before))
			s.exec(t, restore)
			time.Sleep(2 * time.Millisecond) // a backup is older than the grain of SQLite's clock
			after := acquire(t, b, request("job"))
			assert.Greater(t, after.Token, before.Token, restore)
			require.NoError(t, b.Release(t.Context(), after))
		}
	})
}
