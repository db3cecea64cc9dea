package fence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// If the caller does not call Uncheck, later writes without a check are accepted until another lease seals.
// A stale write is never accepted. Postgres does not need Uncheck.
func TestWithoutUncheckNothingStalePasses(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		s.db.SetMaxOpenConns(1)
		old, newer := s.two(t)
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(old.Context(), tx))
		require.NoError(t, tx.Commit())
		_, err := s.db.ExecContext(t.Context(), insert)
		if s.dialect == migrations.Postgres {
			require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
			return
		}
		require.NoError(t, err)
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		s.refuses(t, s.db, fence.ErrStale)
		s.work(t, newer)
		_, err = s.db.ExecContext(t.Context(), insert)
		require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked, "Tx clears what other transactions have left behind")
	})
}

// Protect prevents mistakes, not attacks: a program that reads the newest holder's nonce in the fence table can imitate
// a check.
func TestAProgramThatForgesACheckPassesAProtectedTable(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		require.NoError(t, s.guard.Seal(t.Context(), s.lease(t, "r")))
		_, err := s.db.ExecContext(t.Context(), insert)
		require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
		tx := s.begin(t, sql.LevelDefault)
		_, err = tx.ExecContext(t.Context(), map[migrations.Dialect]string{
			migrations.Postgres: "SELECT set_config('rowlock.nonces', nonce::text, true) FROM rowlock_lease_fence",
			migrations.MySQL:    "SET @rowlock_nonces = (SELECT nonce FROM rowlock_lease_fence)",
			migrations.SQLite:   "INSERT INTO rowlock_lease_fence_pass (nonce) SELECT nonce FROM rowlock_lease_fence",
		}[s.dialect])
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), insert)
		require.NoError(t, err)
	})
}

// If a transaction is rolled back because its ctx ends, its session accepts no later write without a check.
func TestACancelledTransactionLeavesNoPass(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		s.db.SetMaxOpenConns(1)
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		s.work(t, lease)
		ctx, cancel := context.WithCancel(lease.Context())
		require.ErrorIs(t, s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			require.NoError(t, s.append(ctx, tx, lease))
			cancel()
			return ctx.Err()
		}), context.Canceled)
		s.refuses(t, s.db, fence.ErrUnchecked)
	})
}

// Postgres and SQLite reject the cascade of a foreign key on a protected table. On MySQL and MariaDB,
// a cascade and a TRUNCATE fire no trigger.
func TestCascadesAndTruncate(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			s.db.SetMaxOpenConns(1)
			s.exec(t, "PRAGMA foreign_keys = ON")
		}
		s.exec(t, "CREATE TABLE parent (id bigint PRIMARY KEY)")
		s.exec(t, "CREATE TABLE child (parent bigint NOT NULL, FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)")
		s.exec(t, "INSERT INTO parent VALUES (1)")
		s.exec(t, "INSERT INTO child VALUES (1)")
		s.guard = s.engine.guard(s.db, fence.Protected())
		require.NoError(t, s.guard.Protect(t.Context(), "child", "r"))
		_, err := s.db.ExecContext(t.Context(), "DELETE FROM parent")
		if s.dialect == migrations.MySQL {
			require.NoError(t, err)
			s.exec(t, "TRUNCATE TABLE child")
			assert.Zero(t, s.int(t, "SELECT count(*) FROM child"))
			return
		}
		require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM child"))
	})
}

// On Postgres, three kinds of writes bypass the triggers. They are writes of a session in replica mode, writes after
// the owner has dropped the triggers, and writes to a partition under its own name.
func TestPostgresGaps(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	s.protect(t)
	s.db.SetMaxOpenConns(1)
	s.exec(t, "SET session_replication_role = replica")
	s.exec(t, insert)
	s.exec(t, "SET session_replication_role = origin")
	s.refuses(t, s.db, fence.ErrUnchecked)
	s.exec(t, "ALTER TABLE ledger DISABLE TRIGGER rowlock_fence")
	s.exec(t, insert)

	s.exec(t, "CREATE TABLE parted (n int) PARTITION BY LIST (n)")
	s.exec(t, "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1)")
	require.NoError(t, s.guard.Protect(t.Context(), "parted", "r"))
	_, err := s.db.ExecContext(t.Context(), "INSERT INTO parted VALUES (1)")
	require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
	s.exec(t, "INSERT INTO parted_1 VALUES (1)")
	require.NoError(t, s.guard.Protect(t.Context(), "parted_1", "r"))
	_, err = s.db.ExecContext(t.Context(), "INSERT INTO parted_1 VALUES (1)")
	require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
}
