package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise 3 of docs/guarantees.md: after a backup is restored, no token is granted twice, whether the backup contains
// an older row of the lock or no row.
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
			time.Sleep(2 * time.Millisecond) // makes the backup older than the resolution of SQLite's clock
			after := acquire(t, b, request("job"))
			assert.Greater(t, after.Token, before.Token, restore)
			require.NoError(t, b.Release(t.Context(), after))
		}
	})
}
