package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// workAt checks, writes and commits in a transaction of the given level. It repeats the transaction while the database
// rolls it back.
func (s *store) workAt(ctx context.Context, level sql.IsolationLevel, lease *rowlock.Lease) error {
	once := func() error {
		tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if err := s.guard.Check(lease.Context(), tx); err != nil {
			return err
		}
		if err := s.append(ctx, tx, lease); err != nil {
			return err
		}
		return tx.Commit()
	}
	for {
		err := once()
		if !s.undone(err) {
			return err
		}
	}
}

// startWork begins to work, and returns when the work is done or waits. A SQLite file has one writer at a time. So on
// SQLite the work begins only when the test calls the function wait.
func (s *store) startWork(t *testing.T, level sql.IsolationLevel, lease *rowlock.Lease) sealing {
	t.Helper()
	if s.dialect == migrations.SQLite {
		return sealing{true, func() error { return s.workAt(t.Context(), level, lease) }}
	}
	done := make(chan error, 1)
	go func() { done <- s.workAt(t.Context(), level, lease) }()
	return s.untilDoneOrWaiting(t, done)
}

// lazySchedules are the schedules of schedules_test.go, except that the successor works without a seal. The function
// run returns the error of the old holder, and whether the successor had to wait for the old holder.
var lazySchedules = []struct {
	name string
	run  func(t *testing.T, s *store, level sql.IsolationLevel, old, newer *rowlock.Lease) (err error, waited bool)
}{
	// S1: the old holder checks. Then the successor works. Then the old holder writes and commits.
	{"S1", func(t *testing.T, s *store, level sql.IsolationLevel, old, newer *rowlock.Lease) (error, bool) {
		tx := s.begin(t, level)
		require.NoError(t, s.guard.Check(old.Context(), tx))
		work := s.startWork(t, level, newer)
		return s.end(t, tx, old, true), worked(t, work)
	}},
	// S2: the old holder takes a snapshot. Then the successor works. Then the old holder checks and writes.
	{"S2", func(t *testing.T, s *store, level sql.IsolationLevel, old, newer *rowlock.Lease) (error, bool) {
		tx := s.begin(t, level)
		var n int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n))
		after := func() {}
		if strings.HasPrefix(s.name, "sqlite") && s.name != "sqlite-wal" { // no other transaction can commit while the old holder's transaction is open
			after = func() { require.NoError(t, s.workAt(t.Context(), level, newer)) }
		} else {
			require.NoError(t, s.workAt(t.Context(), level, newer))
		}
		err := s.guard.Check(old.Context(), tx)
		if err == nil {
			err = s.end(t, tx, old, true)
		}
		_ = tx.Rollback()
		after()
		return err, false
	}},
	// S3: the old holder checks and writes. Then the successor works. Then the old holder commits.
	{"S3", func(t *testing.T, s *store, level sql.IsolationLevel, old, newer *rowlock.Lease) (error, bool) {
		tx := s.begin(t, level)
		require.NoError(t, s.guard.Check(old.Context(), tx))
		require.NoError(t, s.append(t.Context(), tx, old))
		work := s.startWork(t, level, newer)
		return s.end(t, tx, old, false), worked(t, work)
	}},
}

func (s *store) end(t *testing.T, tx *sql.Tx, lease *rowlock.Lease, write bool) (err error) {
	t.Helper()
	if write {
		err = s.append(t.Context(), tx, lease)
	}
	if err == nil {
		err = tx.Commit()
	}
	_ = tx.Rollback()
	return err
}

func worked(t *testing.T, work sealing) (waited bool) {
	t.Helper()
	require.NoError(t, work.wait())
	return work.waits
}

// missesAWrite reports whether the first transaction of a new holder works on too old a snapshot. Such a snapshot lacks
// the predecessor's last commit, although the transaction has waited for that commit. The parameter first says that
// this commit ended the predecessor's first transaction, which raised the mark. In that case every database except
// MySQL and MariaDB rolls the new holder's transaction back, because that transaction raises the mark from an older
// snapshot.
func missesAWrite(s *store, level sql.IsolationLevel, schedule string, first bool) bool {
	if schedule == "S2" || level != sql.LevelRepeatableRead {
		return false
	}
	return !first || s.name == "mysql" || s.name == "mariadb"
}

// At every isolation level of every engine, no stale write commits after a write of a newer lease that was checked
// lazily. The test tries this with the old holder's first transaction, which raises the mark, and with a later
// transaction of the old holder. The test also shows a limit of a lazy check: the successor may work on a snapshot
// without its predecessor's last write.
func TestLazyKeepsTheOrderOfWrites(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			for _, level := range e.scheduled() {
				for _, first := range []bool{true, false} {
					var results []string
					for _, sch := range lazySchedules {
						t.Run(fmt.Sprintf("%s/first %v/%s", level, first, sch.name), func(t *testing.T) {
							s := s.again(t, fence.Lazy())
							old := s.lease(t, "r")
							if !first {
								require.NoError(t, s.workAt(t.Context(), level, old))
							}
							newer := s.lease(t, "r")
							err, waited := sch.run(t, s, level, old, newer)
							assert.Equal(t, sch.name != "S2", waited, "the successor waits for a transaction that has checked")
							assert.Equal(t, sch.name == "S2" && (s.dialect != migrations.SQLite || s.name == "sqlite-wal"), err != nil, "the old holder is rejected: %v", err)
							if err != nil {
								assert.True(t, errors.Is(err, fence.ErrStale) || s.undone(err), "%v", err)
							}
							assert.Zero(t, s.int(t, "SELECT count(*) FROM ledger a JOIN ledger b ON a.id < b.id AND a.token > b.token"), "stale writes")
							missed := s.violated(t)
							assert.Equal(t, missesAWrite(s, level, sch.name, first), missed, "the successor misses a write")
							results = append(results, sch.name+" "+describe(false, err)+map[bool]string{true: ", misses a write"}[missed])
							require.ErrorIs(t, s.workAt(t.Context(), level, old), fence.ErrStale)
						})
					}
					t.Logf("%-27s %-17s first %-5v %s", e.name, level, first, strings.Join(results, "; "))
				}
			}
		})
	}
}

// Many transactions of one new holder run concurrently, on a resource without a mark or with an older mark.
// All of them succeed, some after an ErrRetry.
func TestLazyTransactionsOfOneHolder(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			for _, level := range e.levels {
				s := s.again(t, fence.Lazy())
				for holds := range 3 {
					const many = 6
					lease := s.lease(t, "r")
					done := make(chan error, many)
					for range many {
						go func() { done <- s.workAt(t.Context(), level, lease) }()
					}
					for range many {
						require.NoError(t, <-done, level)
					}
					assert.EqualValues(t, many*(holds+1), s.int(t, "SELECT count(*) FROM ledger"))
					assert.EqualValues(t, lease.Token(), s.int(t, "SELECT token FROM rowlock_lease_fence"))
				}
			}
		})
	}
}

// The first transaction of a holder raises the mark, and concurrent transactions of the same holder rely on that.
// If the first transaction rolls back, the others raise the mark themselves or get an ErrRetry.
// They never get an ErrStale.
func TestALazyRaiseThatIsRolledBack(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			return // a SQLite file has one writer at a time
		}
		for _, level := range s.levels {
			s := s.again(t, fence.Lazy())
			lease := s.lease(t, "r")
			first := s.begin(t, level)
			require.NoError(t, s.guard.Check(lease.Context(), first))
			work := s.startWork(t, level, lease)
			require.True(t, work.waits, level)
			require.NoError(t, first.Rollback())
			require.NoError(t, work.wait(), level)
		}
	})
}

// A lazy check rejects another token domain and a lease without a token. Lazy guards and other guards can share the
// marks. With the option Fenced, a lazy guard seals.
func TestLazyAndSeal(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lazy := s.engine.guard(s.db, fence.Lazy())
		old, newer := s.two(t)
		require.NoError(t, lazy.Tx(newer.Context(), nothing))
		require.ErrorIs(t, s.guard.Tx(old.Context(), nothing), fence.ErrStale)
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		newest := s.lease(t, "r")
		require.ErrorIs(t, s.guard.Tx(newest.Context(), nothing), fence.ErrStale, "the other guard is not lazy")
		require.NoError(t, lazy.Seal(t.Context(), newest))
		require.NoError(t, s.guard.Tx(newest.Context(), nothing))
		require.ErrorIs(t, lazy.Tx(s.lease(t, "another").Context(), nothing, "r"), fence.ErrOtherDomain)
	})
}

// A lazy check that waits for an older holder's transaction returns when its ctx ends.
func TestALazyCheckIsBounded(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.guard = s.engine.guard(s.db, fence.Lazy())
		old := s.lease(t, "r")
		newer := s.lease(t, "r")
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(old.Context(), tx))
		ctx, cancel := context.WithTimeout(newer.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := s.guard.Tx(ctx, nothing)
		require.Error(t, err)
		require.NotErrorIs(t, err, fence.ErrStale)
		assert.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, tx.Commit())
		s.work(t, newer)
	})
}
