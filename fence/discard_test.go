package fence

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The function discard does not panic if database/sql closes the connection at the same time. database/sql closes it
// because the context of its transaction has ended.
func TestDiscardBesideATransactionThatEnds(t *testing.T) {
	db := sql.OpenDB(nothing{})
	defer db.Close()
	for range 100_000 {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		_, err = conn.BeginTx(ctx, nil)
		require.NoError(t, err)
		cancel()
		discard(conn)
		discard(conn)
		_ = conn.Close()
	}
}

// nothing is a database whose transactions do nothing.
type nothing struct{}

func (nothing) Driver() sqldriver.Driver                        { return nil }
func (nothing) Connect(context.Context) (sqldriver.Conn, error) { return nothing{}, nil }
func (nothing) Prepare(string) (sqldriver.Stmt, error)          { return nil, sqldriver.ErrSkip }
func (nothing) Begin() (sqldriver.Tx, error)                    { return nothing{}, nil }
func (nothing) Close() error                                    { return nil }
func (nothing) Commit() error                                   { return nil }
func (nothing) Rollback() error                                 { return nil }

// If a transaction cannot be rolled back, undo closes its connection. The connection does not return to the pool with
// the transaction open.
func TestUndoThatFailsClosesTheConnection(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "data.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, rollback := range []string{"ROLLBACK", "ROLLBACK TO nothing"} {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), "BEGIN")
		require.NoError(t, err)
		undo(t.Context(), conn, rollback)
		_ = conn.Close()
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err, rollback)
		require.NoError(t, tx.Rollback())
	}
}
