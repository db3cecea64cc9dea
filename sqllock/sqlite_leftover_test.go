package sqllock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/sqllock"
)

// If the context of a transaction ends while InTx waits for another writer, the connection's busy timeout is
// restored. Otherwise the connection would return to the caller's pool with a short timeout, and later statements
// would fail too early on a busy file.
func TestSQLiteInTxThatIsCutShortLeavesTheBusyTimeoutAlone(t *testing.T) {
	s := sqliteTestWith(t, "DELETE")
	db := openSQLite(t, fileOf(t, s)+"?_pragma=busy_timeout(4321)")
	db.SetMaxOpenConns(1) // one connection, so that the test later reads the setting of this connection
	b := sqllock.SQLite(db)
	writer, err := s.raw.Conn(t.Context())
	require.NoError(t, err)
	defer writer.Close()
	_, err = writer.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err, "round %d", round)
		stop := time.AfterFunc(20*time.Millisecond, cancel) // the context ends during the first wait of InTx, which lasts 50 ms
		require.Error(t, b.InTx(t.Context(), tx, "job"))
		stop.Stop()
		cancel()
		_ = tx.Rollback()
		var now int
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&now), "round %d", round)
		assert.Equal(t, 4321, now, "round %d", round)
	}
	_, err = writer.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
}
