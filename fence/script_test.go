package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
)

// awkward contains names that a statement must quote with care: quotes, backslashes, dollar signs, characters outside
// ASCII, the texts that the statements replace, and the end of the block on Postgres.
var awkward = []string{"r", "it's", `a\'b`, "$rowlock$", "'rowlock nonce'", "日本 ☃ 🔒", "two\nlines", "%s %L", ":name", "x; DROP TABLE ledger; --", `"`}

// script runs the statements of CheckSQL in tx, as the console of the database does.
func (s *store) script(ctx context.Context, t *testing.T, tx *sql.Tx, lease *rowlock.Lease, resources ...string) error {
	t.Helper()
	statements, err := s.guard.CheckSQL(lease, resources...)
	require.NoError(t, err)
	require.NotEmpty(t, statements)
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// The statements of CheckSQL succeed for the lease that was the last to seal the resources, whatever characters the
// names contain. They fail after a newer lease has sealed, and for a lease that has not sealed. On Postgres the failure
// has the SQLSTATE of a protected table.
func TestAScriptIsRefusedWhenStale(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		space := `it's \ 日本`
		lease, other := s.lease(t, "lock", rowlock.Namespace(space)), s.lease(t, "another")
		require.NoError(t, s.guard.Seal(t.Context(), lease, awkward...))
		check := func(lease *rowlock.Lease, resources ...string) error {
			tx := s.begin(t, sql.LevelDefault)
			defer tx.Rollback() //nolint:errcheck // undone on purpose
			return s.script(t.Context(), t, tx, lease, resources...)
		}
		require.NoError(t, check(lease, awkward...))
		for _, name := range awkward {
			require.NoError(t, check(lease, name), name)
		}
		s.isStale(t, check(other, "r"))
		s.isStale(t, check(lease, "r", "never sealed"))
		require.NoError(t, s.locks.ForceRelease(t.Context(), driver.Key{Namespace: space, Name: "lock"}, lease.Token(), true))
		newer := s.lease(t, "lock", rowlock.Namespace(space))
		require.NoError(t, s.guard.Seal(t.Context(), newer, awkward...))
		for _, name := range awkward {
			s.isStale(t, check(lease, name))
			require.NoError(t, check(newer, name), name)
		}
	})
}

func (s *store) isStale(t *testing.T, err error) {
	t.Helper()
	require.ErrorContains(t, err, "rowlock: stale")
	var refused *pgconn.PgError
	if s.dialect == migrations.Postgres {
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "RLF02", refused.Code)
	}
}

// From the statements of CheckSQL to the end of the transaction, no newer lease can seal, at every isolation level. So
// the writes of the script are committed before the newer lease reads.
func TestAScriptThatHasCheckedDelaysASeal(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		for _, level := range s.scheduled() {
			old, newer := s.two(t)
			tx := s.begin(t, level)
			require.NoError(t, s.script(t.Context(), t, tx, old), level)
			seal := s.startSeal(t, newer)
			require.True(t, seal.waits, level)
			require.NoError(t, s.append(t.Context(), tx, old))
			if s.dialect == migrations.SQLite {
				_, err := tx.ExecContext(t.Context(), "DELETE FROM rowlock_lease_fence_pass")
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
			require.NoError(t, seal.wait())
			tx = s.begin(t, level)
			s.isStale(t, s.script(t.Context(), t, tx, old))
			require.NoError(t, tx.Rollback())
		}
	})
}

// A script that checks while a newer lease waits to seal is refused on Postgres with a serialization failure, so that
// it does not delay the seal.
func TestAScriptDoesNotOvertakeASeal(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect != migrations.Postgres {
			t.Skip("the other databases queue row locks: TestAScriptThatHasCheckedDelaysASeal")
		}
		old, newer := s.two(t)
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.script(t.Context(), t, tx, old))
		seal := s.startSeal(t, newer)
		require.True(t, seal.waits)
		late := s.begin(t, sql.LevelDefault)
		var refused *pgconn.PgError
		require.ErrorAs(t, s.script(t.Context(), t, late, old), &refused)
		assert.Equal(t, "40001", refused.Code)
		require.NoError(t, late.Rollback())
		require.NoError(t, tx.Commit())
		require.NoError(t, seal.wait())
	})
}

// A protected table accepts the writes of a script that has run the statements of CheckSQL, and rejects other writes.
func TestAProtectedTableTakesACheckedScript(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.script(t.Context(), t, tx, lease))
		require.NoError(t, s.append(t.Context(), tx, lease))
		require.NoError(t, s.guard.Uncheck(t.Context(), tx))
		require.NoError(t, tx.Commit())
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"))
		tx = s.begin(t, sql.LevelDefault)
		require.Error(t, s.append(t.Context(), tx, lease))
		require.NoError(t, tx.Rollback())
	})
}

// On Postgres the statements of CheckSQL fail outside a transaction block. They limit how long the transaction may idle
// to the time for which the lease is trusted, unless the caller's limit is shorter.
func TestAScriptOnPostgresNeedsATransaction(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	statements, err := s.guard.CheckSQL(lease)
	require.NoError(t, err)
	_, err = s.db.ExecContext(t.Context(), statements[0])
	require.ErrorContains(t, err, "can only be used in transaction blocks")

	for own, want := range map[string]string{"0": "", "1s": "1s", "100h": ""} {
		tx := s.begin(t, sql.LevelDefault)
		_, err := tx.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = '"+own+"'")
		require.NoError(t, err)
		require.NoError(t, s.script(t.Context(), t, tx, lease))
		var got string
		require.NoError(t, tx.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&got))
		if want == "" {
			assert.NotEqual(t, own, got)
			assert.NotEqual(t, "0", got)
		} else {
			assert.Equal(t, want, got)
		}
		require.NoError(t, tx.Rollback())
	}
}

// CheckSQL prints no statement for a lease that has ended, and none for a name that cannot be a resource.
func TestNoScriptForALeaseThatHasEnded(t *testing.T) {
	t.Parallel()
	s := sqliteWAL.fresh(t)
	lease := s.lease(t, "r")
	_, err := s.guard.CheckSQL(nil)
	require.Error(t, err)
	_, err = s.guard.CheckSQL(lease, "a\x00b")
	require.ErrorContains(t, err, "NUL")
	require.NoError(t, lease.Release(t.Context()))
	_, err = s.guard.CheckSQL(lease)
	require.True(t, errors.Is(err, rowlock.ErrReleased), err)
}
