package fence_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
)

func noWork(context.Context, *sql.Tx) error { return nil }

// Promise: in a read-only transaction, Check and Tx return ErrReadOnly if the check has to write.
func TestAReadOnlyTransactionIsAnErrReadOnly(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
		s.exec(t, "INSERT INTO orders (id) VALUES (7)")
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		var guard *fence.Guard
		db := s.db
		switch s.dialect {
		case migrations.Postgres:
			guard, _ = s.limited(t, "SET default_transaction_read_only = on")
		case migrations.MySQL:
			guard, _ = s.limited(t, "SET SESSION TRANSACTION READ ONLY")
		default:
			db = s.open(t, strings.Replace(s.dsn, "?", "?mode=ro&", 1))
			guard = s.engine.guard(db)
		}
		require.ErrorIs(t, guard.Tx(lease.Context(), noWork), fence.ErrReadOnly)
		for name, check := range map[string]func(tx *sql.Tx) error{
			"CheckRow": func(tx *sql.Tx) error { return guard.CheckRow(lease.Context(), tx, orderRow, 7) },
			"Check":    func(tx *sql.Tx) error { return guard.Check(lease.Context(), tx) },
		} {
			if s.dialect == migrations.MySQL && name == "Check" {
				continue // MySQL allows LOCK IN SHARE MODE in a read-only transaction
			}
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: s.dialect != migrations.SQLite})
			require.NoError(t, err)
			err = check(tx)
			require.ErrorIs(t, err, fence.ErrReadOnly, name)
			require.NotErrorIs(t, err, fence.ErrStale, name)
			require.NoError(t, tx.Rollback())
		}
	})
}

// Promise: on a standby, which may be a former primary, Check and Tx return ErrReadOnly.
func TestAStandbyIsAnErrReadOnly(t *testing.T) {
	t.Parallel()
	primary, s := ownPostgres(t)
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	standby, err := testserver.Start(t.Context(), testserver.Postgres, testserver.Options{Primary: primary.Addr, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(standby.Stop)
	there := s.open(t, standby.DSN)
	guard := fence.Postgres(there)
	require.ErrorIs(t, guard.Tx(lease.Context(), noWork), fence.ErrReadOnly)
	tx, err := there.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // it changes nothing
	require.ErrorIs(t, guard.Check(lease.Context(), tx), fence.ErrReadOnly)
	newer := s.lease(t, "r")
	err = guard.Seal(t.Context(), newer)
	require.ErrorIs(t, err, fence.ErrReadOnly)
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
}

// Promise: an error of Tx other than ErrUnknown means that nothing was committed. On SQLite a statement can end the
// transaction. If the function ignores that error, each of its later writes is committed by itself.
func TestTxWhoseFunctionIgnoresTheEndOfItsTransaction(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		if e.dialect != migrations.SQLite {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for _, options := range [][]fence.Option{nil, {fence.Protected()}} {
				s := e.fresh(t)
				guard := e.guard(s.db, options...)
				s.exec(t, "CREATE TABLE once (n INTEGER PRIMARY KEY)")
				s.exec(t, "INSERT INTO once VALUES (1)")
				lease := s.lease(t, "r")
				require.NoError(t, guard.Seal(t.Context(), lease))
				err := guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO once VALUES (1)")
					require.Error(t, err)
					return s.append(ctx, tx, lease)
				})
				require.ErrorIs(t, err, fence.ErrUnknown)
				assert.NotContains(t, err.Error(), "nothing was committed")
				assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"), "what the error reports")

				err = guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO once VALUES (1)")
					return err
				})
				require.Error(t, err)
				require.NotErrorIs(t, err, fence.ErrUnknown, "it was not ignored")
				require.NoError(t, guard.Tx(lease.Context(), noWork))
			}
		})
	}
}

// Promise: if the checking lease never sealed the resource, the error says so and names the option Fenced.
// The error for a stale holder does not name the option.
func TestACheckWithoutASealSaysWhatIsMissing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		check := func(lease *rowlock.Lease) error {
			tx := s.begin(t, sql.LevelDefault)
			defer tx.Rollback() //nolint:errcheck // it changes nothing
			return s.guard.Check(lease.Context(), tx)
		}
		first := s.lease(t, "r")
		unsealed := []error{check(first)}
		require.NoError(t, s.guard.Seal(t.Context(), first))
		second := s.lease(t, "r")
		unsealed = append(unsealed, check(second))
		for _, err := range unsealed {
			require.ErrorIs(t, err, fence.ErrStale)
			require.ErrorContains(t, err, `"r" was never sealed by this lease`)
			require.ErrorContains(t, err, "rowlock.Fenced(guard)")
		}
		require.NoError(t, s.guard.Seal(t.Context(), second))
		require.NotContains(t, check(first).Error(), "rowlock.Fenced")
	})
}
