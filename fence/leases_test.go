package fence_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
)

// A check with the context of several leases compares each name with the token of its own lease.
// If a newer holder has sealed one of the names, the check fails with an ErrStale that contains this name.
func TestCheckComparesEachOfSeveralLeases(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour), rowlock.Fenced(s.guard))
		require.NoError(t, err)
		t.Cleanup(func() { _ = locker.Close() })
		older := s.lease(t, "b")
		require.NoError(t, s.guard.Seal(t.Context(), older))
		require.NoError(t, older.Release(t.Context()))
		leases, err := locker.AcquireAll(t.Context(), []string{"b", "a"})
		require.NoError(t, err)
		require.NoError(t, s.guard.Seal(t.Context(), leases.Lease("b"), "other"))
		assert.NotEqual(t, leases.Lease("a").Token(), leases.Lease("b").Token())
		work := func(resources ...string) error {
			return s.guard.Tx(leases.Context(), func(ctx context.Context, tx *sql.Tx) error {
				assert.Len(t, rowlock.LeasesFromContext(ctx), 2)
				return s.append(ctx, tx, leases.Lease("a"))
			}, resources...)
		}
		require.NoError(t, work())
		require.NoError(t, work("other"), "a resource without a lease of its own belongs to the first lease")
		require.NoError(t, work("a", "other", "b"))
		require.ErrorIs(t, work("never sealed"), fence.ErrStale)

		newer := s.lease(t, "b")
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		require.NoError(t, leases.Err(), "the holder has not noticed")
		var stale *fence.StaleError
		require.ErrorAs(t, work(), &stale)
		assert.Equal(t, "b", stale.Resource)
		assert.Equal(t, newer.Token(), stale.Newest)
		require.NoError(t, work("a"))
		assert.EqualValues(t, 4, s.int(t, "SELECT count(*) FROM ledger"))
		require.NoError(t, leases.Lease("a").Release(t.Context()))
		require.ErrorIs(t, work("a"), rowlock.ErrReleased)
		require.ErrorIs(t, work("b"), rowlock.ErrReleased, "the leases end together")
	})
}

// A protected table accepts a write of a transaction that has checked all names. The table may be protected for any one
// of these names.
func TestProtectedTablesAcceptSeveralLeases(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		guard := s.engine.guard(s.db, fence.Protected())
		require.NoError(t, guard.Protect(t.Context(), "ledger", "a"))
		require.NoError(t, guard.Protect(t.Context(), "elsewhere", "b"))
		locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour), rowlock.Fenced(guard))
		require.NoError(t, err)
		t.Cleanup(func() { _ = locker.Close() })
		err = locker.DoAll(t.Context(), []string{"b", "a"}, func(ctx context.Context, leases *rowlock.Leases) error {
			return guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO elsewhere (n) VALUES (1)"); err != nil {
					return err
				}
				return s.append(ctx, tx, leases.Lease("a"))
			})
		})
		require.NoError(t, err)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM elsewhere"))
	})
}

// A call that ends a lease, or writes its token, accepts one lease only. If ctx has several leases, the error says so.
func TestSomeCallsAreForOneLease(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour))
		require.NoError(t, err)
		t.Cleanup(func() { _ = locker.Close() })
		leases, err := locker.AcquireAll(t.Context(), []string{"b", "a"})
		require.NoError(t, err)
		err = s.guard.ReleaseOnCommit(leases.Context(), func(context.Context, *sql.Tx) error { return nil })
		require.ErrorContains(t, err, "ctx carries 2 leases, and this call needs a single lease")
		require.NoError(t, leases.Err())
	})
}

// CheckHeld asks the database about each of several leases.
func TestCheckHeldAsksAboutEachOfSeveralLeases(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour), rowlock.Fenced(s.guard))
		require.NoError(t, err)
		t.Cleanup(func() { _ = locker.Close() })
		leases, err := locker.AcquireAll(t.Context(), []string{"b", "a"})
		require.NoError(t, err)
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.CheckHeld(leases.Context(), tx))
		require.NoError(t, tx.Rollback())
		require.NoError(t, s.locks.ForceRelease(t.Context(), driver.Key{Name: "a"}, leases.Lease("a").Token(), true))
		tx = s.begin(t, sql.LevelDefault)
		require.ErrorIs(t, s.guard.CheckHeld(leases.Context(), tx), rowlock.ErrLost)
		require.NoError(t, tx.Rollback())
		tx = s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(leases.Context(), tx), "the marks have not changed")
		require.NoError(t, tx.Rollback())
	})
}
