package fence

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// Promise: a guard remembers a lease's claims only while the lease is held. So the guard's memory does not grow with
// the number of leases that have ended.
func TestAGuardForgetsTheClaimsOfALeaseThatHasEnded(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "data.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, migrations.Up(t.Context(), db, migrations.SQLite))
	guard := SQLite(db)
	remembered := func() (n int) {
		guard.claimed.Range(func(any, any) bool { n++; return true })
		return n
	}
	locker, err := rowlock.New(memlock.New())
	require.NoError(t, err)
	defer func() { require.NoError(t, locker.Close()) }()
	for more := range 3 {
		lease, err := locker.Acquire(t.Context(), "r")
		require.NoError(t, err)
		for range 1 + more {
			require.NoError(t, guard.Claim(t.Context(), lease, "r", "s"))
			require.Equal(t, 2, remembered())
		}
		require.NoError(t, lease.Release(t.Context()))
		require.Eventually(t, func() bool { return remembered() == 0 }, time.Minute, time.Millisecond)
	}
}
