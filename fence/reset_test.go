package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// eachGuard does the same as each, except that the guard on Postgres uses a pgx pool. A TestCompat runs it with
// database/sql.
func eachGuard(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	t.Parallel()
	tested := enginesOf(t)[1:]
	if further(t) {
		tested = append([]engine{postgres}, furtherEngines...)
	}
	for _, e := range tested {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, e.fresh(t))
		})
	}
	if further(t) {
		return
	}
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		s := postgres.fresh(t)
		pool, err := pgxpool.New(t.Context(), s.dsn)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		s.guard = fence.Pgx(pool)
		test(t, s)
	})
}

// checked returns the result of a Check in a transaction that is rolled back afterwards.
func (s *store) checked(t *testing.T, lease *rowlock.Lease, resource string) error {
	t.Helper()
	tx := s.begin(t, sql.LevelDefault)
	defer func() { require.NoError(t, tx.Rollback()) }()
	if strings.HasSuffix(t.Name(), "/pgx") {
		return fence.Postgres(s.db).Check(lease.Context(), tx, resource)
	}
	return s.guard.Check(lease.Context(), tx, resource)
}

// amnesiac returns a lock store that has lost its data: its tokens are smaller than before.
func amnesiac() *memlock.Backend {
	locks := memlock.New()
	locks.Advance(-time.Hour)
	return locks
}

// After a lock store has lost its data, no lease can seal. The error says why, and contains the command that resets the
// mark. After the reset, the next holder can seal and work, and the earlier holder is rejected.
func TestResetAfterALostHistory(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		old := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), old))
		again := leaseFrom(t, amnesiac(), "r")
		require.Less(t, again.Token(), old.Token())
		err := s.guard.Seal(t.Context(), again)
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)
		assert.Equal(t, fence.StaleError{Resource: "r", Token: again.Token(), Newest: old.Token(), Ahead: true}, *stale)
		require.ErrorContains(t, err, "lost its data")
		require.ErrorContains(t, err, "rowlock fence reset --token "+old.Token().String()+" 'r'")
		require.NoError(t, again.Err(), "it is held")
		require.NoError(t, s.checked(t, old, "r"), "nothing was written")

		require.NoError(t, s.guard.Reset(t.Context(), "", "r", stale.Newest))
		err = s.checked(t, old, "r")
		require.ErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "reset")
		require.ErrorIs(t, s.checked(t, again, "r"), fence.ErrStale, "it has not sealed yet")
		require.NoError(t, s.guard.Seal(t.Context(), again))
		require.NoError(t, s.checked(t, again, "r"))
		err = s.checked(t, old, "r")
		require.ErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "reset since")
	})
}

// After a lock store has lost its data, a fenced acquire returns the same error as Seal, and releases the lock.
func TestAFencedAcquisitionSaysThatTheHistoryIsLost(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		old := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), old))
		locker, err := rowlock.New(amnesiac(), rowlock.Fenced(s.guard))
		require.NoError(t, err)
		defer func() { require.NoError(t, locker.Close()) }()
		for range 2 {
			_, err = locker.TryAcquire(t.Context(), "r")
			var stale *fence.StaleError
			require.ErrorAs(t, err, &stale)
			require.True(t, stale.Ahead)
			require.NotErrorIs(t, err, rowlock.ErrHeld)
		}
		require.NoError(t, s.guard.Reset(t.Context(), "", "r", old.Token()))
		lease, err := locker.TryAcquire(t.Context(), "r")
		require.NoError(t, err)
		require.NoError(t, s.checked(t, lease, "r"))
	})
}

// After Reset of a mark that belongs to another lock or store, the next holder can seal.
func TestResetAfterAChangeOfDomain(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		old, next := s.lease(t, "job", rowlock.Namespace("it's")), s.lease(t, "another", rowlock.Namespace("it's"))
		require.NoError(t, s.guard.Seal(t.Context(), old, "-r"))
		err := s.guard.Seal(t.Context(), next, "-r")
		var domain *fence.OtherDomainError
		require.ErrorAs(t, err, &domain)
		require.ErrorContains(t, err, "rowlock fence reset --token "+old.Token().String()+` --namespace='it'\''s' -- '-r'`)
		require.NoError(t, s.guard.Reset(t.Context(), domain.Namespace, domain.Resource, domain.Newest))
		require.NoError(t, s.guard.Seal(t.Context(), next, "-r"))
		require.NoError(t, s.checked(t, next, "-r"))
		require.ErrorIs(t, s.checked(t, old, "-r"), fence.ErrStale)
	})
}

// After a backup was restored, Check accepts the holder that was the newest when the backup was made. ResetAll,
// for one namespace or for all, makes Check reject that holder. ResetAll does not change a mark that was already reset.
func TestResetAllAfterARestoredBackup(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		old, elsewhere := s.lease(t, "r"), s.lease(t, "r", rowlock.Namespace("n"))
		require.NoError(t, s.guard.Seal(t.Context(), old, "r", "q", "reset"))
		require.NoError(t, s.guard.Seal(t.Context(), elsewhere))
		require.NoError(t, s.guard.Reset(t.Context(), "", "reset", old.Token()))
		s.exec(t, "CREATE TABLE backup AS SELECT * FROM rowlock_lease_fence")
		newer := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), newer, "r", "q"))
		s.exec(t, "DELETE FROM rowlock_lease_fence")
		s.exec(t, "INSERT INTO rowlock_lease_fence SELECT * FROM backup")
		require.NoError(t, s.checked(t, old, "r"), "the case that the reset is for")

		require.NoError(t, s.guard.ResetAll(t.Context(), "", false))
		require.NoError(t, s.checked(t, elsewhere, "r"))
		for _, resource := range []string{"r", "q"} {
			require.ErrorIs(t, s.checked(t, old, resource), fence.ErrStale)
			require.ErrorIs(t, s.checked(t, newer, resource), fence.ErrStale)
		}
		require.NoError(t, s.guard.ResetAll(t.Context(), "", true))
		require.ErrorIs(t, s.checked(t, elsewhere, "r"), fence.ErrStale)
		assert.EqualValues(t, 4, s.int(t, "SELECT count(*) FROM rowlock_lease_fence WHERE era = 1 AND token = 0"))
		require.NoError(t, s.guard.Seal(t.Context(), newer, "r", "q"))
		require.NoError(t, s.checked(t, newer, "q"))
	})
}

// If a newer holder has sealed, the error for the stale lease does not advise a reset.
func TestAnOrdinaryStaleLeaseIsNotToldToReset(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		old, newer := s.two(t)
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		for _, err := range []error{s.checked(t, old, "r"), s.guard.Seal(t.Context(), old)} {
			require.ErrorIs(t, err, fence.ErrStale)
			assert.NotContains(t, err.Error(), "reset")
			assert.NotContains(t, err.Error(), "history")
		}
	})
}

// Reset changes only the mark that the operator saw, and only once.
func TestResetComparesWhatWasSeen(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		lease, other := s.lease(t, "r"), s.lease(t, "r", rowlock.Namespace("n"))
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		require.NoError(t, s.guard.Seal(t.Context(), other))
		require.NoError(t, s.guard.Seal(t.Context(), lease, "R"))
		refused := func(seen rowlock.Token, want fence.NoMarkError, text string) {
			t.Helper()
			err := s.guard.Reset(t.Context(), want.Namespace, want.Resource, seen)
			require.ErrorIs(t, err, fence.ErrNoMark)
			var no *fence.NoMarkError
			require.ErrorAs(t, err, &no)
			want.Seen = seen
			assert.Equal(t, want, *no)
			assert.ErrorContains(t, err, text)
		}
		refused(lease.Token()-1, fence.NoMarkError{Resource: "r", Token: lease.Token()}, "now has token")
		refused(lease.Token()+1, fence.NoMarkError{Resource: "r", Token: lease.Token()}, "now has token")
		refused(lease.Token(), fence.NoMarkError{Resource: "never"}, "has no mark")
		require.NoError(t, s.checked(t, lease, "r"), "nothing was written")
		require.NoError(t, s.guard.Reset(t.Context(), "", "r", lease.Token()))
		refused(lease.Token(), fence.NoMarkError{Resource: "r", Resets: 1}, "already reset")
		require.NoError(t, s.checked(t, lease, "R"))
		require.NoError(t, s.checked(t, other, "r"))

		require.NoError(t, s.guard.Seal(t.Context(), lease))
		require.NoError(t, s.guard.Reset(t.Context(), "", "r", lease.Token()))
		refused(lease.Token(), fence.NoMarkError{Resource: "r", Resets: 2}, "already reset")
	})
}

// After Reset has returned, no old holder can commit a checked write. To guarantee this, Reset waits for the
// transactions that have checked the mark, until ctx ends.
func TestResetWaitsForWhoHasChecked(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		tx := s.begin(t, sql.LevelDefault)
		guard := s.engine.guard(s.db)
		require.NoError(t, guard.Check(lease.Context(), tx))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := s.guard.Reset(ctx, "", "r", lease.Token())
		require.True(t, errors.Is(err, fence.ErrRetry) || errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.Less(t, time.Since(began), 30*time.Second)

		require.NoError(t, s.append(t.Context(), tx, lease))
		require.NoError(t, tx.Commit())
		require.NoError(t, s.guard.Reset(t.Context(), "", "r", lease.Token()))
		require.ErrorIs(t, s.checked(t, lease, "r"), fence.ErrStale)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

// If an argument of Marks, Reset or Prune is invalid, the error names the argument. If a table is missing,
// the error is a SchemaError.
func TestOperatingWithBadInput(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		long := strings.Repeat("x", driver.MaxNamespace+1)
		for _, namespace := range []string{long, "\xff", "a\x00"} {
			_, err := s.guard.Marks(t.Context(), namespace, false)
			require.ErrorContains(t, err, "fence: namespace")
			require.ErrorContains(t, s.guard.Reset(t.Context(), namespace, "r", 1), "fence: namespace")
			require.ErrorContains(t, s.guard.ResetAll(t.Context(), namespace, true), "fence: namespace")
		}
		require.ErrorContains(t, s.guard.Reset(t.Context(), "", "", 1), "fence: resource")
		require.ErrorContains(t, s.guard.Reset(t.Context(), "", "r", 0), "seen is 0")
		require.ErrorContains(t, s.guard.Reset(t.Context(), "", "r", -1), "seen is -1")
		_, err := s.guard.Prune(t.Context(), 24*time.Hour-1)
		require.ErrorContains(t, err, "unused is 23h59m59.999999999s: want 24h0m0s or more")

		missing := s.engine.guard(s.db, fence.Table("nowhere"))
		_, listed := missing.Marks(t.Context(), "", true)
		_, pruned := missing.Prune(t.Context(), 24*time.Hour)
		for _, err := range []error{listed, pruned, missing.Reset(t.Context(), "", "r", 1), missing.ResetAll(t.Context(), "", true)} {
			var schema *fence.SchemaError
			require.ErrorAs(t, err, &schema)
		}
	})
}

// If Reset and Seal run at the same time, Reset is either executed first, or finds another token than the operator saw.
// The result of Reset says which of the two happened. In both cases the newer holder can work afterwards.
func TestResetBesideASeal(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		lease, resets := s.lease(t, "r"), int64(0)
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		for range 30 {
			newer, sealed := s.lease(t, "r"), make(chan error, 1)
			go func() { sealed <- s.guard.Seal(t.Context(), newer) }()
			if err := s.guard.Reset(t.Context(), "", "r", lease.Token()); err != nil {
				require.ErrorIs(t, err, fence.ErrNoMark)
			} else {
				resets++
			}
			require.NoError(t, <-sealed)
			require.NoError(t, s.checked(t, newer, "r"))
			require.Equal(t, resets, s.int(t, "SELECT era FROM rowlock_lease_fence"))
			lease = newer
		}
	})
}

// The error of Marks, Reset or Prune says why the call failed, and wraps the error of ctx if ctx has ended.
func TestAnOperatorsCallThatFails(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		require.NoError(t, s.db.Close())
		err := s.guard.ResetAll(t.Context(), "", true)
		require.ErrorContains(t, err, "fence: reset all: ")
		require.NotContains(t, err.Error(), "%!")
		require.NotErrorIs(t, err, context.Canceled)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.guard.ResetAll(ctx, "", true), context.Canceled)
	})
}

// If a mark contains a value that cannot be read, Marks returns an error, and does not omit the mark.
// The test runs on SQLite: on the other databases the column types prevent such a value.
func TestAMarkThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	tried := false
	for _, e := range enginesOf(t) {
		if e.dialect != migrations.SQLite {
			continue
		}
		tried = true
		t.Run(e.name, func(t *testing.T) {
			s := e.fresh(t)
			require.NoError(t, s.guard.Seal(t.Context(), s.lease(t, "r")))
			s.exec(t, "UPDATE rowlock_lease_fence SET token = 'many'")
			list, err := s.guard.Marks(t.Context(), "", true)
			require.ErrorContains(t, err, "fence: list marks: ")
			assert.Empty(t, list)
		})
	}
	require.True(t, tried)
}
