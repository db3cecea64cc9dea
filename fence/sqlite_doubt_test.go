package fence_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
)

// The ctx of a seal or a fenced transaction may end at any moment. It may even end after the database has executed
// BEGIN, but before the call of BEGIN returns. In no case does the pool keep a connection with an open transaction,
// which would keep the file's write lock forever.
func TestNothingGivenUpLeavesATransactionInThePool(t *testing.T) {
	t.Parallel()
	tries, later := 600, 2*time.Microsecond
	if raced {
		tries, later = 150, 8*time.Microsecond
	}
	for _, e := range enginesOf(t) {
		if e.driver != "sqlite" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.db.SetMaxOpenConns(1)
			lease := s.lease(t, "job")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			for i := range tries {
				ctx, cancel := context.WithTimeout(lease.Context(), time.Duration(i)*later)
				if i%2 == 0 {
					_ = s.guard.Seal(ctx, lease)
				} else {
					_ = s.guard.Tx(ctx, func(context.Context, *sql.Tx) error { return nil })
				}
				cancel()
				s.exec(t, "BEGIN")
				s.exec(t, "ROLLBACK")
			}
			require.NoError(t, s.guard.Seal(t.Context(), lease))
		})
	}
}

// If a transaction is rolled back because its context ends while its check waits for another writer,
// the busy timeout of its connection is restored.
func TestACheckThatIsCutShortLeavesTheBusyTimeoutAlone(t *testing.T) {
	t.Parallel()
	s := sqliteWAL.fresh(t)
	db := s.open(t, s.dsn)
	db.SetMaxOpenConns(1) // so that the test later inspects the same connection
	guard := fence.SQLite(db)
	lease := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), lease))
	writer := s.begin(t, sql.LevelDefault)
	_, err := writer.ExecContext(t.Context(), "INSERT INTO elsewhere (n) VALUES (1)")
	require.NoError(t, err)
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		stop := time.AfterFunc(20*time.Millisecond, cancel) // ends ctx while the check waits, which it does for a second
		require.Error(t, guard.Check(lease.Context(), tx))
		stop.Stop()
		cancel()
		_ = tx.Rollback()
		var now int
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&now))
		assert.Equal(t, 5000, now, "round %d", round)
	}
}
