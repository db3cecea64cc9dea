package fence_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

const day = 24 * time.Hour

// grow moves the time of the last seal of every mark back by d.
func (s *store) grow(t *testing.T, d time.Duration) {
	t.Helper()
	s.exec(t, fmt.Sprintf(map[migrations.Dialect]string{
		migrations.Postgres: "UPDATE rowlock_lease_fence SET sealed_at = sealed_at - %d * interval '1 microsecond'",
		migrations.MySQL:    "UPDATE rowlock_lease_fence SET sealed_at = sealed_at - INTERVAL %d MICROSECOND",
		migrations.SQLite:   "UPDATE rowlock_lease_fence SET sealed_at = sealed_at - %d",
	}[s.dialect], d.Microseconds()))
}

func (s *store) prune(t *testing.T, unused time.Duration) int {
	t.Helper()
	n, err := s.guard.Prune(t.Context(), unused)
	require.NoError(t, err)
	return n
}

// Marks lists the marks in order, exactly as they were sealed, with ages by the database's clock.
func TestMarks(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		none, err := s.guard.Marks(t.Context(), "", true)
		require.NoError(t, err)
		assert.Empty(t, none)
		names := []string{"R", "a ", "r", "日本"}
		here, there := s.lease(t, "Jöb"), s.lease(t, "job", rowlock.Namespace("ns"))
		for i := range names {
			require.NoError(t, s.guard.Seal(t.Context(), here, names[len(names)-1-i]))
		}
		require.NoError(t, s.guard.Seal(t.Context(), there, "b"))
		s.grow(t, time.Hour)
		require.NoError(t, s.guard.Reset(t.Context(), "", "a ", here.Token()))
		want := []fence.Mark{{Namespace: "ns", Resource: "b", Token: there.Token(), Domain: "memlock job"}}
		list, err := s.guard.Marks(t.Context(), "ns", false)
		require.NoError(t, err)
		assert.Equal(t, want, ageless(t, list))

		for i, name := range names {
			m := fence.Mark{Resource: name, Token: here.Token(), Domain: "memlock Jöb"}
			if name == "a " {
				m = fence.Mark{Resource: name, Resets: 1}
			}
			want = append(want[:i:i], m)
		}
		list, err = s.guard.Marks(t.Context(), "", false)
		require.NoError(t, err)
		assert.Equal(t, want, ageless(t, list))
		list, err = s.guard.Marks(t.Context(), "", true)
		require.NoError(t, err)
		assert.Len(t, list, 5)
		assert.Equal(t, "ns", list[4].Namespace)
	})
}

// ageless checks the ages, and then sets them to zero, so that a test can compare the other fields.
func ageless(t *testing.T, list []fence.Mark) []fence.Mark {
	t.Helper()
	for i := range list {
		sealed := time.Hour
		if list[i].Token == 0 {
			sealed = 0
		}
		assert.InDelta(t, sealed, list[i].Age, float64(time.Minute), "%+v", list[i])
		list[i].Age = 0
	}
	return list
}

// Marks does not wait for open transactions or seals.
func TestMarksBesideAnOpenTransaction(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		if s.name == "sqlite-journal" {
			return // with a rollback journal, a reader waits for a commit
		}
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		tx := s.begin(t, sql.LevelDefault)
		_, err := tx.ExecContext(t.Context(), "UPDATE rowlock_lease_fence SET token = token + 1")
		require.NoError(t, err)
		list, err := s.guard.Marks(t.Context(), "", false)
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, lease.Token(), list[0].Token)
	})
}

// Prune deletes only marks that were sealed long ago, if necessary in several batches. After that,
// Check rejects the holder of a deleted mark, until the holder seals again.
func TestPruneForgetsWhatWasSealedLongAgo(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		require.Zero(t, s.prune(t, day))
		lease, elsewhere := s.lease(t, "r"), s.lease(t, "r", rowlock.Namespace("n"))
		names := make([]string, 501)
		for i := range names {
			names[i] = fmt.Sprintf("resource %d", i)
		}
		require.NoError(t, s.guard.Seal(t.Context(), lease, names...))
		require.NoError(t, s.guard.Seal(t.Context(), elsewhere))
		s.grow(t, day+time.Minute)
		require.NoError(t, s.guard.Seal(t.Context(), lease, "resource", "young"))
		require.Zero(t, s.prune(t, 2*day))
		require.Equal(t, 502, s.prune(t, day))
		assert.EqualValues(t, 2, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
		require.NoError(t, s.checked(t, lease, "young"))

		err := s.checked(t, lease, "resource 0")
		require.ErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "pruned")
		require.NoError(t, s.guard.Seal(t.Context(), lease, "resource 0"))
		require.NoError(t, s.checked(t, lease, "resource 0"))

		require.NoError(t, s.guard.Reset(t.Context(), "", "young", lease.Token()))
		s.grow(t, day+time.Minute)
		require.Equal(t, 3, s.prune(t, day), "also one that was reset")
	})
}

// Prune keeps a mark while the lease that sealed it is alive in the lock table next to the fence table.
// A holder may hold its lock for longer than marks are kept. Prune and renewals do not wait for each other.
func TestPruneLeavesTheMarksOfLiveLeases(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		backend := map[migrations.Dialect]func(*sql.DB, ...sqllock.Option) *sqllock.Backend{
			migrations.Postgres: sqllock.Postgres, migrations.MySQL: sqllock.MySQL, migrations.SQLite: sqllock.SQLite,
		}[s.dialect](s.db)
		locker, err := rowlock.New(backend, rowlock.TTL(time.Hour))
		require.NoError(t, err)
		defer func() { require.NoError(t, locker.Close()) }()
		live, err := locker.Acquire(t.Context(), "live")
		require.NoError(t, err)
		released, err := locker.Acquire(t.Context(), "released")
		require.NoError(t, err)
		require.NoError(t, s.guard.Seal(t.Context(), live, "live", "of another name"))
		require.NoError(t, s.guard.Seal(t.Context(), released))
		require.NoError(t, released.Release(t.Context()))
		s.grow(t, 30*day)
		if s.dialect != migrations.SQLite { // a SQLite file has one writer at a time
			tx := s.begin(t, sql.LevelDefault)
			_, err := tx.ExecContext(t.Context(), "UPDATE rowlock_lease SET note = 'being renewed'")
			require.NoError(t, err)
			defer func() { require.NoError(t, tx.Commit()) }()
		}
		began := time.Now()
		require.Equal(t, 1, s.prune(t, day))
		assert.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, s.checked(t, live, "live"))
		require.NoError(t, s.checked(t, live, "of another name"))
	})
}

// Prune deletes the mark of an expired lease.
func TestPruneForgetsTheMarkOfAnExpiredLease(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		nonce := driver.NewNonce().String()
		times := map[migrations.Dialect]string{
			migrations.Postgres: "now() - interval '1 hour'", migrations.MySQL: "UTC_TIMESTAMP(6) - INTERVAL 1 HOUR", migrations.SQLite: "1",
		}[s.dialect]
		s.exec(t, "INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until) "+
			"VALUES ('', 'r', 7, '"+nonce+"', '', '', "+times+", "+times+", "+times+")")
		require.NoError(t, s.guard.Seal(t.Context(), s.lease(t, "r")))
		s.exec(t, "UPDATE rowlock_lease_fence SET token = 7, nonce = '"+nonce+"'")
		s.grow(t, 30*day)
		require.Equal(t, 1, s.prune(t, day))
	})
}

// Prune skips a mark that an open transaction has checked, and does not wait for the transaction.
func TestPruneSkipsWhatIsChecked(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			return // a SQLite file has one writer at a time
		}
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease, "checked", "unused"))
		s.grow(t, 30*day)
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.engine.guard(s.db).Check(lease.Context(), tx, "checked"))
		began := time.Now()
		require.Equal(t, 1, s.prune(t, day))
		assert.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, tx.Commit())
		require.Equal(t, 1, s.prune(t, day))
	})
}

// If a lease seals while Prune deletes the resource's mark, the seal succeeds, and its mark exists afterwards.
func TestPruneBesideASeal(t *testing.T) {
	eachGuard(t, func(t *testing.T, s *store) {
		require.NoError(t, s.guard.Seal(t.Context(), s.lease(t, "r")))
		for range 20 {
			s.grow(t, 2*day)
			lease := s.lease(t, "r")
			pruned := make(chan error, 1)
			go func() {
				_, err := s.guard.Prune(t.Context(), day)
				pruned <- err
			}()
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			require.NoError(t, <-pruned)
			require.NoError(t, s.checked(t, lease, "r"))
		}
	})
}
