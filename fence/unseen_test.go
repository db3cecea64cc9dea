package fence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// The documented gaps of a guard on MySQL and MariaDB. A deadlock rolls back the whole transaction,
// and a statement that commits implicitly ends it. The function's later writes are in no transaction and bypass the
// fence, except in a protected table. If the function returns the error of the deadlock, Tx runs it again
// (TestTxRunsAgainWhatWasUndone). If the function continues, Tx returns nil.
func TestATransactionThatTheServerHasEnded(t *testing.T) {
	t.Parallel()
	for _, e := range servers[1:] {
		require.Equal(t, migrations.MySQL, e.dialect)
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			old, newer := s.two(t)
			s.exec(t, "CREATE TABLE pair (id int PRIMARY KEY, n bigint NOT NULL)")
			s.exec(t, "INSERT INTO pair (id, n) VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)")
			require.NoError(t, s.guard.Tx(old.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "UPDATE pair SET n = 1 WHERE id = 1")
				require.NoError(t, err)
				other := s.begin(t, 0) // this transaction has changed more rows, so the server does not choose it for the rollback
				_, err = other.ExecContext(ctx, "UPDATE pair SET n = 2 WHERE id > 1")
				require.NoError(t, err)
				_, err = other.ExecContext(ctx, "INSERT INTO elsewhere (n) VALUES (1), (2), (3), (4), (5)")
				require.NoError(t, err)
				done := make(chan error, 1)
				go func() {
					_, err := other.ExecContext(ctx, "UPDATE pair SET n = 2 WHERE id = 1")
					done <- err
				}()
				_, err = tx.ExecContext(ctx, "UPDATE pair SET n = 1 WHERE id = 2")
				require.ErrorContains(t, err, "1213")
				require.NoError(t, <-done)
				require.NoError(t, other.Commit())
				require.NoError(t, s.guard.Seal(t.Context(), newer), "it waits for no transaction")
				return s.append(ctx, tx, old)
			}))
			require.EqualValues(t, 2, s.int(t, "SELECT n FROM pair WHERE id = 1"), "undone")
			require.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"), "bypasses the fence")

			guard := s.engine.guard(s.db, fence.Protected())
			require.NoError(t, guard.Protect(t.Context(), "elsewhere", "r"))
			last := s.lease(t, "r")
			require.NoError(t, guard.Tx(newer.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "CREATE TABLE more (n int)")
				require.NoError(t, err)
				require.NoError(t, s.guard.Seal(t.Context(), last), "it waits for no transaction")
				_, err = tx.ExecContext(ctx, "INSERT INTO elsewhere (n) VALUES (6)")
				require.ErrorIs(t, guard.Explain(err), fence.ErrStale, "a protected table")
				return s.append(ctx, tx, newer)
			}))
			require.EqualValues(t, 2, s.int(t, "SELECT count(*) FROM ledger"))
			require.ErrorIs(t, s.guard.Tx(newer.Context(), nil), fence.ErrStale)
		})
	}
}
