package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// The newest lease can seal any number of times. An older lease can never seal afterwards, whether it has sealed before
// or not. The token of a mark never becomes smaller. After the failed seal, the older lease is lost.
func TestSealIsStrict(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		first, second := s.two(t)
		require.NoError(t, s.guard.Seal(t.Context(), first), "it is still the newest that has sealed")
		newer := s.lease(t, "r")
		for _, old := range []*rowlock.Lease{first, second} {
			require.NoError(t, s.guard.Seal(t.Context(), newer))
			err := s.guard.Seal(t.Context(), old)
			require.ErrorIs(t, err, fence.ErrStale)
			require.NotErrorIs(t, err, fence.ErrRetry)
			var stale *fence.StaleError
			require.ErrorAs(t, err, &stale)
			assert.Equal(t, fence.StaleError{Resource: "r", Token: old.Token(), Newest: newer.Token()}, *stale)
			require.ErrorIs(t, s.guard.Seal(t.Context(), old), rowlock.ErrLost)
		}
		assert.EqualValues(t, newer.Token(), s.int(t, "SELECT token FROM rowlock_lease_fence"))
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
		s.work(t, newer)
	})
}

// A store that has lost its data may grant a token twice. Seal and Check reject the second holder of that token.
func TestTheSameTokenOfAnotherGrantIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		s.exec(t, "UPDATE rowlock_lease_fence SET nonce = '"+driver.NewNonce().String()+"'")
		err := s.guard.Seal(t.Context(), lease)
		require.ErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "same token")
		require.ErrorIs(t, s.guard.Check(lease.Context(), s.begin(t, sql.LevelDefault)), fence.ErrStale)
	})
}

// Seal seals all resources or none, in whatever order the caller passes them. Check of a resource that was not sealed
// fails.
func TestSeveralResourcesAreSealedTogether(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		old, newer := s.lease(t, "job"), s.lease(t, "job")
		require.NoError(t, s.guard.Seal(t.Context(), newer, "m"))
		err := s.guard.Seal(t.Context(), old, "z", "m", "a", "a")
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)
		assert.Equal(t, "m", stale.Resource)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"), "nothing was written")
		require.NoError(t, s.guard.Seal(t.Context(), newer, "z", "m", "a", "a"))
		assert.EqualValues(t, 3, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))

		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(newer.Context(), tx, "m", "a", "z"))
		err = s.guard.Check(newer.Context(), tx, "a", "never")
		require.ErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "never sealed by this lease")
		require.NoError(t, tx.Rollback())
	})
}

// Names of resources are compared byte for byte. Equal names in different namespaces are different resources.
func TestResourcesAreExact(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		names := []string{"r", "R", "r ", "ä", "a\u0308", "日本", strings.Repeat("x", driver.MaxName), `'"%_\`}
		old, newer := s.lease(t, "job"), s.lease(t, "job")
		for _, name := range names {
			require.NoError(t, s.guard.Seal(t.Context(), old, name), name)
		}
		for i, name := range names {
			require.NoError(t, s.guard.Seal(t.Context(), newer, name))
			for _, other := range names[i+1:] {
				tx := s.begin(t, sql.LevelDefault)
				require.NoError(t, s.guard.Check(old.Context(), tx, other), "%q and %q", name, other)
				require.NoError(t, tx.Rollback())
			}
		}
	})
}

// If the name of a resource is invalid, the error contains the name, and nothing is written.
func TestResourcesThatCannotBe(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "job")
		tx := s.begin(t, sql.LevelDefault)
		for _, bad := range []string{"", strings.Repeat("x", driver.MaxName+1), "\xff", "a\x00"} {
			for _, err := range []error{s.guard.Seal(t.Context(), lease, "good", bad), s.guard.Check(lease.Context(), tx, bad)} {
				require.ErrorContains(t, err, "fence: resource")
			}
		}
		require.NoError(t, tx.Rollback())
		require.ErrorContains(t, s.guard.Seal(t.Context(), nil), "nil")
		assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	})
}

// If the lease has ended, Seal writes nothing, and the error says what ended the lease.
func TestAnEndedLeaseSealsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, s.guard.Seal(t.Context(), lease), rowlock.ErrReleased)
		assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	})
}

// If a checked transaction never ends, Seal waits for it until ctx or the lease's trust ends. Seal leaves the session's
// settings unchanged.
func TestSealIsBounded(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		old, newer := s.two(t)
		brief := leaseFrom(t, s.locks, "r", rowlock.TTL(6*time.Second), rowlock.RenewEvery(time.Second))
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(old.Context(), tx))

		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := s.guard.Seal(ctx, newer)
		require.True(t, errors.Is(err, fence.ErrRetry) || errors.Is(err, context.DeadlineExceeded), "%v", err)
		require.NotErrorIs(t, err, fence.ErrStale)
		err = s.guard.Seal(t.Context(), brief)
		require.ErrorIs(t, err, fence.ErrRetry)
		require.ErrorIs(t, err, rowlock.ErrUnavailable, "a candidate of Lead campaigns again")
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's ctx has not ended")
		assert.Less(t, time.Since(began), 30*time.Second)

		require.NoError(t, tx.Commit())
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		s.work(t, newer)
		if s.dialect == migrations.MySQL {
			s.db.SetMaxOpenConns(1)
			before := s.int(t, "SELECT @@GLOBAL.innodb_lock_wait_timeout")
			assert.Equal(t, before, s.int(t, "SELECT @@SESSION.innodb_lock_wait_timeout"))
		}
	})
}

// A second seal does not wait for the lease's own transactions.
func TestSealAgainBesideAnOpenTransaction(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			return // a SQLite file has one writer at a time
		}
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(lease.Context(), tx))
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		require.NoError(t, tx.Commit())
	})
}

// Many holders seal and check the same resources in random order. Every deadlock is resolved, no stale write is
// accepted, and no holder misses a write.
func TestManyHoldersOfSeveralResources(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		const holders = 6
		resources := []string{"r", "a", "z"}
		leases := make([]*rowlock.Lease, holders)
		for i := range leases {
			leases[i] = s.lease(t, "job")
		}
		done := make(chan error, holders)
		for i, lease := range leases {
			mine := slices.Clone(resources)
			slices.Reverse(mine[i%len(mine):])
			go func() {
				err := s.guard.Seal(t.Context(), lease, mine...)
				for n := 0; n < 5 && err == nil; n++ {
					err = s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) }, mine...)
				}
				done <- err
			}()
		}
		for range holders {
			if err := <-done; err != nil {
				require.ErrorIs(t, err, fence.ErrStale)
			}
		}
		newest := leases[holders-1]
		require.NoError(t, s.guard.Seal(t.Context(), newest, "r"))
		s.work(t, newest)
		require.False(t, s.violated(t))
	})
}
