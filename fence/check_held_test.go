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
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// expire sets expires_at and held_until of every lease to one hour before now if past is true, and else to one hour
// after now.
func (s *store) expire(t *testing.T, past bool) {
	t.Helper()
	at := map[migrations.Dialect]string{
		migrations.Postgres: "clock_timestamp() + interval '1 hour'", migrations.MySQL: "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR", migrations.SQLite: "9000000000000000",
	}[s.dialect]
	if past {
		at = map[migrations.Dialect]string{
			migrations.Postgres: "clock_timestamp() - interval '1 hour'", migrations.MySQL: "UTC_TIMESTAMP(6) - INTERVAL 1 HOUR", migrations.SQLite: "0",
		}[s.dialect]
	}
	s.exec(t, "UPDATE rowlock_lease SET expires_at = "+at+", held_until = "+at)
}

// holding appends a row to the ledger, in a transaction that first calls CheckHeld.
func (s *store) holding(t *testing.T, lease *rowlock.Lease, level sql.IsolationLevel) error {
	t.Helper()
	tx := s.begin(t, level)
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	err := s.guard.CheckHeld(lease.Context(), tx)
	if err == nil {
		err = errors.Join(s.append(t.Context(), tx, lease), tx.Commit())
	}
	return err
}

// keepsSnapshot reports whether all reads of a transaction use the snapshot of its first read.
func (s *store) keepsSnapshot(level sql.IsolationLevel) bool {
	return level == sql.LevelRepeatableRead || level == sql.LevelSerializable && s.dialect == migrations.Postgres
}

// CheckHeld accepts a lease that is alive in the database. It rejects a lease that has ended there, although the
// holder's own deadline is not over. The test covers a lease that has expired and a lease that an operator has ended.
// It also covers a lock that was granted again, before and after the new holder has sealed.
func TestCheckHeldAsksTheDatabaseWhetherTheLeaseIsAlive(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		for _, level := range s.levels {
			s.exec(t, "DELETE FROM ledger")
			lease := s.sealed(t)
			require.NoError(t, s.holding(t, lease, level), level)
			s.expire(t, true)
			err := s.holding(t, lease, level)
			if s.dialect == migrations.MySQL || s.keepsSnapshot(level) {
				require.ErrorIs(t, err, fence.ErrRetry, level)
				require.NotErrorIs(t, err, rowlock.ErrLost, level)
			} else {
				require.ErrorIs(t, err, rowlock.ErrLost, level)
				require.NotErrorIs(t, err, fence.ErrRetry, level)
			}
			s.expire(t, false)
			require.NoError(t, s.locks.ForceRelease(t.Context(), driver.Key{Name: "r"}, lease.Token(), true))
			require.ErrorIs(t, s.holding(t, lease, level), rowlock.ErrLost, "ended by an operator")
			newer := s.lease(t, "r")
			require.ErrorIs(t, s.holding(t, lease, level), rowlock.ErrLost, "taken by another holder, which has not sealed")
			require.NoError(t, s.guard.Seal(t.Context(), newer))
			require.ErrorIs(t, s.holding(t, lease, level), fence.ErrStale)
			require.NoError(t, lease.Err(), "the holder has not noticed")
			require.NoError(t, s.holding(t, newer, level))
			assert.EqualValues(t, 2, s.int(t, "SELECT count(*) FROM ledger"), "no rejected write is in the ledger")
		}
	})
}

// If a lease was renewed after the transaction's snapshot, CheckHeld does not report it as lost.
// The error is an ErrRetry.
func TestCheckHeldInASnapshotFromBeforeARenewal(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			return // SQLite rejects the check, because another transaction has committed since the first read
		}
		for _, level := range s.levels {
			lease := s.sealed(t)
			s.expire(t, true)
			tx := s.begin(t, level)
			var n int64
			require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n))
			s.expire(t, false) // simulates a renewal
			err := s.guard.CheckHeld(lease.Context(), tx)
			if s.keepsSnapshot(level) || s.readsLock(level) && s.name == "mariadb-snapshot-isolation" {
				require.ErrorIs(t, err, fence.ErrRetry, level)
				require.NotErrorIs(t, err, rowlock.ErrLost, level)
			} else {
				require.NoError(t, err, level)
			}
			require.NoError(t, tx.Rollback())
			require.NoError(t, s.holding(t, lease, level))
		}
	})
}

// An open transaction that has called CheckHeld does not block the renewal of its own lease. There are two exceptions:
// SERIALIZABLE on MySQL, and SQLite. There the outcome of the renewal is unknown while the transaction is open,
// and the lease is not lost. A renewal succeeds as soon as the transaction has ended.
func TestCheckHeldDoesNotDelayRenewal(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		lease := s.sealed(t)
		for _, level := range s.levels {
			tx := s.begin(t, level)
			require.NoError(t, s.guard.CheckHeld(lease.Context(), tx))
			require.NoError(t, s.append(t.Context(), tx, lease))
			if s.readsLock(level) || s.dialect == migrations.SQLite {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				require.ErrorIs(t, lease.Renew(ctx), rowlock.ErrUnknown, level)
				cancel()
			} else {
				require.NoError(t, lease.Renew(t.Context()), "%s: within 5 s, the limit of a renewal", level)
			}
			require.NoError(t, tx.Commit())
			require.NoError(t, lease.Renew(t.Context()), level)
		}
	})
}

// If the lease is in another store, CheckHeld and ReleaseOnCommit return an error that says so, and write nothing.
func TestCheckHeldAndReleaseOnCommitWantTheSameStore(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		never := func(context.Context, *sql.Tx) error { panic("not to be called") }
		lease := s.sealed(t)
		for _, err := range []error{s.holding(t, lease, sql.LevelDefault), s.guard.ReleaseOnCommit(lease.Context(), never)} {
			require.ErrorContains(t, err, `stored by "memlock": this call needs a lease of sqllock/`)
		}
		require.ErrorIs(t, s.guard.CheckHeld(t.Context(), s.begin(t, sql.LevelDefault)), fence.ErrNoLease)
		require.ErrorIs(t, s.guard.ReleaseOnCommit(t.Context(), never), fence.ErrNoLease)
	})
}

// ReleaseOnCommit rejects a shared lease before it begins a transaction. The commit would end the leases of all
// readers, and a writer could acquire the lock while they work.
func TestReleaseOnCommitRejectsASharedLease(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(memlock.New())
		require.NoError(t, err)
		defer func() { _ = locker.Close() }()
		lease, err := locker.Acquire(t.Context(), "a", rowlock.Shared())
		require.NoError(t, err)
		err = s.guard.ReleaseOnCommit(lease.Context(), func(context.Context, *sql.Tx) error { panic("not to be called") })
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, `release "a": the lease is shared`)
		require.NoError(t, lease.Err())
	})
}

// If the lease is in another table of the same database, CheckHeld and ReleaseOnCommit return an error.
func TestCheckHeldAndReleaseOnCommitWantTheSameTable(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		require.NoError(t, migrations.Up(t.Context(), s.db, s.dialect, migrations.Table("other")))
		s.keepLocks(sqllock.Table("other"))
		lease := s.sealed(t)
		require.ErrorContains(t, s.holding(t, lease, sql.LevelDefault), "no row in the guard's database")
		err := s.guard.ReleaseOnCommit(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
		require.ErrorContains(t, err, "no row in the guard's database")
		require.NoError(t, lease.Err())
		assert.Zero(t, s.int(t, "SELECT count(*) FROM ledger"))
	})
}
