package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
)

// other returns a second Locker on the same locks, which behaves like another process.
func (s *store) other(t *testing.T) *rowlock.Locker {
	t.Helper()
	locker, err := rowlock.New(s.locks)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, locker.Close()) })
	return locker
}

// ReleaseOnCommit commits the last transaction and the release of the lease together. Afterwards another process can
// acquire the lock at once, with a larger token.
func TestReleaseOnCommit(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		lease, other := s.sealed(t), s.other(t)
		require.NoError(t, s.guard.ReleaseOnCommit(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := other.TryAcquire(ctx, "r")
			require.ErrorIs(t, err, rowlock.ErrHeld, "not before the commit")
			return s.append(ctx, tx, lease)
		}))
		require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
		require.ErrorIs(t, context.Cause(lease.Context()), rowlock.ErrReleased)
		require.NoError(t, lease.Release(t.Context()))
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"))
		next, err := other.TryAcquire(t.Context(), "r")
		require.NoError(t, err)
		assert.Greater(t, next.Token(), lease.Token())
		require.NoError(t, other.Do(t.Context(), "q", func(ctx context.Context, lease *rowlock.Lease) error {
			return s.guard.ReleaseOnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
		}, rowlock.Fenced(s.guard)), "in the scope of Do it is a release like any other")
	})
}

// If the function of ReleaseOnCommit fails, nothing is written, and the lease continues.
func TestReleaseOnCommitThatRollsBackKeepsTheLease(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		lease, wrong := s.sealed(t), errors.New("wrong")
		require.ErrorIs(t, s.guard.ReleaseOnCommit(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			require.NoError(t, s.append(ctx, tx, lease))
			return wrong
		}), wrong)
		require.NoError(t, lease.Err())
		require.NoError(t, lease.Renew(t.Context()))
		_, err := s.other(t).TryAcquire(t.Context(), "r")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		assert.Zero(t, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

// If the lease has ended in the database, ReleaseOnCommit commits nothing and does not end another lease.
func TestReleaseOnCommitOfALeaseThatIsGone(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		try := func(lease *rowlock.Lease) error {
			return s.guard.ReleaseOnCommit(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
		}
		lease := s.sealed(t)
		s.expire(t, true)
		require.ErrorIs(t, try(lease), rowlock.ErrLost, "expired")

		lease = s.sealed(t)
		newer := s.takeOver(t, lease)
		require.ErrorIs(t, try(lease), rowlock.ErrLost, "taken by another holder, which has not sealed")
		require.NoError(t, newer.Renew(t.Context()))

		lease, newer = newer, nil
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		newer = s.takeOver(t, lease)
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		err := try(lease)
		require.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, rowlock.ErrLost), "%v", err)
		require.NoError(t, newer.Renew(t.Context()))
		assert.Zero(t, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

// After ReleaseOnCommit, the name stays unavailable until the minimum hold is over, as after any release.
func TestReleaseOnCommitKeepsTheMinimumHold(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		lease := s.sealed(t, rowlock.MinHold(time.Hour))
		require.NoError(t, s.guard.ReleaseOnCommit(lease.Context(), func(context.Context, *sql.Tx) error { return nil }))
		_, err := s.other(t).TryAcquire(t.Context(), "r")
		var held *rowlock.HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, driver.MinHold, held.Reason)
		assert.InDelta(t, time.Hour, held.ExpiresIn, float64(time.Minute))
	})
}

// If the database rolls the transaction back, ReleaseOnCommit runs it again, and the lease ends once.
// A renewal between the transaction's snapshot and the release would cause such a rollback. So no renewal is sent while
// the transaction runs again.
func TestReleaseOnCommitRunsAgainWhatWasUndone(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		lease := s.sealed(t)
		tries := 0
		require.NoError(t, s.guard.ReleaseOnCommit(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			require.ErrorIs(t, lease.Renew(ctx), rowlock.ErrUnavailable)
			if err := s.append(ctx, tx, lease); err != nil {
				return err
			}
			if tries++; tries < 3 {
				return fence.ErrRetry
			}
			return nil
		}))
		assert.Equal(t, 3, tries)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

// CheckHeldPgx and ReleaseOnCommitPgx work with a guard on a pgx pool.
func TestCheckHeldAndReleaseOnCommitPgx(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	s.keepLocks()
	pool, err := pgxpool.New(t.Context(), s.dsn)
	require.NoError(t, err)
	defer pool.Close()
	guard := fence.Pgx(pool)
	lease := s.sealed(t)
	insert := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO elsewhere VALUES (1)")
		return err
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return guard.CheckHeldPgx(lease.Context(), tx) }))
	s.expire(t, true)
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return guard.CheckHeldPgx(lease.Context(), tx) }), rowlock.ErrLost)
	require.ErrorIs(t, guard.ReleaseOnCommitPgx(lease.Context(), insert), rowlock.ErrLost)
	lease = s.sealed(t)
	require.NoError(t, guard.ReleaseOnCommitPgx(lease.Context(), insert))
	require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
	assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM elsewhere"))

	lease = s.sealed(t)
	require.ErrorContains(t, guard.ReleaseOnCommit(lease.Context(), nil), "use TxPgx")
	require.ErrorContains(t, s.guard.ReleaseOnCommitPgx(lease.Context(), nil), "use Tx")
	require.ErrorContains(t, fence.MySQL(s.db).CheckHeldPgx(lease.Context(), nil), "needs a lease of sqllock/mysql")
}
