package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// protected runs the function test on every engine. The ledger is protected for the resource "r", and the guard has the
// option Protected.
func protected(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	each(t, func(t *testing.T, s *store) {
		s.protect(t)
		test(t, s)
	})
}

func (s *store) protect(t *testing.T) {
	t.Helper()
	s.guard = s.engine.guard(s.db, fence.Protected())
	require.NoError(t, s.guard.Protect(t.Context(), "ledger", "r"))
}

// writes returns the statements that a protected table has to reject in a transaction without a check.
func (s *store) writes() []string {
	all := []string{
		"INSERT INTO ledger (token, seen) VALUES (1, 1)",
		"INSERT INTO ledger (token, seen) SELECT 1, 1",
		"UPDATE ledger SET seen = 9",
		"DELETE FROM ledger",
		"DELETE FROM ledger WHERE seen >= 0",
	}
	switch s.dialect {
	case migrations.Postgres:
		all = append(all, "TRUNCATE ledger", "UPDATE ledger SET seen = 9 WHERE false", "INSERT INTO ledger (id, token, seen) VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET seen = 9")
	case migrations.MySQL:
		all = append(all, "REPLACE INTO ledger (id, token, seen) VALUES (1, 1, 1)", "INSERT IGNORE INTO ledger (token, seen) VALUES (1, 1)",
			"UPDATE IGNORE ledger SET seen = 9", "DELETE IGNORE FROM ledger", "INSERT INTO ledger (id, token, seen) VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE seen = 9")
	case migrations.SQLite:
		all = append(all, "REPLACE INTO ledger (id, token, seen) VALUES (1, 1, 1)", "INSERT OR IGNORE INTO ledger (token, seen) VALUES (1, 1)",
			"UPDATE OR IGNORE ledger SET seen = 9", "INSERT INTO ledger (id, token, seen) VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET seen = 9")
	}
	return all
}

// refuses asserts that each write on each connection of the pool fails with the error reason.
func (s *store) refuses(t *testing.T, db *sql.DB, reason error) {
	t.Helper()
	for _, w := range s.writes() {
		_, err := db.ExecContext(t.Context(), w)
		require.ErrorIs(t, s.guard.Explain(err), reason, "%s: %v", w, err)
	}
}

// Protect needs a session with other settings. The sessions of the application's pool keep their settings.
func TestProtectChangesNoSettingOfThePool(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect != migrations.MySQL {
			t.Skip("only MySQL and MariaDB store the settings of a session with its triggers")
		}
		s.db.SetMaxOpenConns(1)
		const settings = "SELECT CONCAT_WS(' ', @@sql_mode, @@collation_connection, @@sql_big_selects)"
		var before, after string
		require.NoError(t, s.db.QueryRowContext(t.Context(), settings).Scan(&before))
		s.protect(t)
		require.NoError(t, s.db.QueryRowContext(t.Context(), settings).Scan(&after))
		assert.Equal(t, before, after)
	})
}

// A protected table rejects every kind of write outside of a checked transaction, and accepts it inside one.
// After the transaction, it rejects writes on the same connection again, whether the transaction was committed or
// rolled back.
func TestAProtectedTableTakesCheckedWritesOnly(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		s.db.SetMaxOpenConns(1)
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		s.work(t, lease)
		s.refuses(t, s.db, fence.ErrUnchecked)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger WHERE seen = 0"))

		failure := errors.New("the function's own")
		require.ErrorIs(t, s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for _, w := range s.writes() {
				_, err := tx.ExecContext(ctx, w)
				require.NoError(t, err, w)
			}
			return failure
		}), failure)
		s.refuses(t, s.db, fence.ErrUnchecked)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger WHERE seen = 0"))

		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(lease.Context(), tx))
		require.NoError(t, s.guard.Check(lease.Context(), tx), "and again")
		require.NoError(t, s.append(t.Context(), tx, lease))
		require.NoError(t, s.guard.Uncheck(t.Context(), tx))
		require.NoError(t, tx.Commit())
		s.refuses(t, s.db, fence.ErrUnchecked)
		s.work(t, lease)
		assert.EqualValues(t, 3, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

// A protected table rejects every write if its resource was never sealed. It also rejects writes after a check by a
// lease that has not sealed the table's resource.
func TestAnotherResourcesCheckDoesNotCount(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		other, lease := s.lease(t, "other"), s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), other))
		write := func(leases ...*rowlock.Lease) error {
			tx := s.begin(t, sql.LevelDefault)
			defer tx.Rollback() //nolint:errcheck // undone on purpose
			for _, l := range leases {
				require.NoError(t, s.guard.Check(l.Context(), tx))
			}
			err := s.guard.Explain(s.append(t.Context(), tx, lease))
			if s.dialect == migrations.MySQL {
				require.NoError(t, s.guard.Uncheck(t.Context(), tx))
			}
			return err
		}
		require.ErrorIs(t, write(other), fence.ErrStale)
		require.ErrorIs(t, write(), fence.ErrUnchecked)
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		require.ErrorIs(t, write(other), fence.ErrStale)
		require.NotErrorIs(t, write(other), fence.ErrUnchecked)
		require.NoError(t, write(lease))
		require.NoError(t, write(other, lease), "two locks in one transaction")
		require.NoError(t, write(lease, other))
	})
}

// If the database needs the option Protected, writes after a check by a guard without it fail with an error that names
// the option.
func TestTheOptionProtectedIsNeeded(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		err := s.engine.guard(s.db).Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
		if s.dialect == migrations.Postgres {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, fence.ErrUnchecked)
		}
	})
}

// Unprotect undoes what Protect does. The errors of the two calls name the table and the cause.
func TestProtectAndUnprotect(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		for range 2 {
			require.NoError(t, s.guard.Unprotect(ctx, "ledger"))
			require.NoError(t, s.guard.Protect(ctx, "ledger", "r"))
			err := s.guard.Protect(ctx, "ledger", "another")
			require.ErrorContains(t, err, `fence: protect "ledger": `)
			require.ErrorContains(t, err, "already exists")
			s.exec(t, "INSERT INTO elsewhere VALUES (1)")
			_, err = s.db.ExecContext(ctx, s.writes()[0])
			require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
		}
		require.NoError(t, s.guard.Unprotect(ctx, "ledger"))
		s.exec(t, s.writes()[0])

		require.ErrorContains(t, s.guard.Protect(ctx, `led"ger`, "r"), `fence: protect "led\"ger": table`)
		require.ErrorContains(t, s.guard.Protect(ctx, "ledger", ""), `resource "" is empty`)
		require.ErrorContains(t, s.guard.Protect(ctx, "ledger", "r", fence.InNamespace("a\x00")), "namespace")
		require.ErrorContains(t, s.guard.Unprotect(ctx, "a b"), `fence: unprotect "a b": table`)
		err := s.guard.Protect(ctx, "missing", "r")
		require.ErrorContains(t, err, "missing")
		var schema *fence.SchemaError
		require.False(t, errors.As(err, &schema), "it is not the fence table that is missing: %v", err)
		require.ErrorAs(t, s.engine.guard(s.db, fence.Table("nowhere")).Protect(ctx, "ledger", "r"), &schema)
		require.ErrorIs(t, s.guard.Explain(errAnything), errAnything)
		require.NoError(t, s.guard.Explain(nil))
	})
}

var errAnything = errors.New("anything")

// ProtectSQL returns the statements that Protect runs. Names of resources, namespaces and tables are matched exactly,
// whatever characters they contain.
func TestProtectedNamesAreExact(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.guard = s.engine.guard(s.db, fence.Protected())
		s.exec(t, map[bool]string{true: "CREATE TABLE `Select` (n int)", false: `CREATE TABLE "Select" (n int)`}[s.dialect == migrations.MySQL])
		for _, name := range []string{`'; DROP TABLE ledger; --`, `\`, `\'`, `a\\'b''`, `"` + "`", "rowlock_protected rowlock_lease_fence", "'rowlock resource'", "日本\u0308?$1 :x", "R "} {
			statements, err := s.guard.ProtectSQL("Select", name, fence.InNamespace(name))
			require.NoError(t, err)
			for _, statement := range statements {
				_, err := s.db.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			quoted := map[bool]string{true: "`Select`", false: `"Select"`}[s.dialect == migrations.MySQL]
			write := func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO "+quoted+" VALUES (1)")
				return err
			}
			lease := s.another(t, rowlock.Namespace(name))
			require.NoError(t, s.guard.Seal(t.Context(), lease, name, name+"x"))
			require.NoError(t, s.guard.Tx(lease.Context(), write, name), name)
			elsewhere := s.another(t)
			require.NoError(t, s.guard.Seal(t.Context(), elsewhere, name))
			require.ErrorIs(t, s.guard.Tx(elsewhere.Context(), write, name), fence.ErrStale, "another namespace")
			require.NoError(t, s.guard.Unprotect(t.Context(), "Select"))
		}
	})
}

// another returns a lease of a new name.
func (s *store) another(t *testing.T, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	locker, err := rowlock.New(s.locks, append(opts, rowlock.TTL(time.Hour))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close()) })
	lease, err := locker.TryAcquire(t.Context(), driver.NewNonce().String())
	require.NoError(t, err)
	return lease
}
