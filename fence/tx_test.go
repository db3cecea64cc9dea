package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// Tx commits if its function returns nil, and rolls back if the function fails or panics. It does not run the function
// for a stale lease.
func TestTx(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		old, newer := s.two(t)
		s.work(t, old)
		wrong := errors.New("wrong")
		fail := func(ctx context.Context, tx *sql.Tx) error {
			require.NoError(t, s.append(ctx, tx, old))
			return wrong
		}
		require.ErrorIs(t, s.guard.Tx(old.Context(), fail), wrong)
		require.Panics(t, func() {
			_ = s.guard.Tx(old.Context(), func(context.Context, *sql.Tx) error { panic("in the function") })
		})
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		require.ErrorIs(t, s.guard.Tx(old.Context(), fail), fence.ErrStale)
		require.ErrorIs(t, s.guard.Tx(t.Context(), fail), fence.ErrNoLease)
		s.work(t, newer)
		assert.EqualValues(t, 2, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

// With the option Fenced, Do seals before the work begins.
func TestDoFenced(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(s.locks, rowlock.Fenced(s.guard))
		require.NoError(t, err)
		defer func() { require.NoError(t, locker.Close()) }()
		for range 3 {
			require.NoError(t, locker.Do(t.Context(), "r", func(ctx context.Context, lease *rowlock.Lease) error {
				return s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
			}))
		}
		require.False(t, s.violated(t))
	})
}

// If the database rolls a transaction back, Tx runs it again from the beginning, ten times in all at most.
func TestTxRunsAgainWhatWasUndone(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			lease := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			s.exec(t, "CREATE TABLE pair (id int PRIMARY KEY, n bigint NOT NULL)")
			s.exec(t, "INSERT INTO pair (id, n) VALUES (1, 0)")
			s.exec(t, "INSERT INTO pair (id, n) VALUES (2, 0)")
			// Two transactions of one holder lock two rows in opposite order. The database rolls one back.
			both := make(chan struct{})
			first := make(chan struct{}, 2)
			done := make(chan error, 2)
			tries := make([]int, 2)
			for i := range 2 {
				go func() {
					done <- s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
						tries[i]++
						for step := range 2 {
							if _, err := tx.ExecContext(ctx, s.bind("UPDATE pair SET n = n + 1 WHERE id = ?"), (i+step)%2+1); err != nil {
								return err
							}
							if step == 0 && tries[i] == 1 {
								first <- struct{}{}
								<-both
							}
						}
						return nil
					})
				}()
			}
			<-first
			<-first
			close(both)
			require.NoError(t, <-done)
			require.NoError(t, <-done)
			assert.GreaterOrEqual(t, tries[0]+tries[1], 3, "one of them ran again, and on a slow machine the other may, too")
			assert.EqualValues(t, 4, s.int(t, "SELECT sum(n) FROM pair"))

			undo := "SIGNAL SQLSTATE '40000' SET MYSQL_ERRNO = 3101" // a conflict in a replication group
			if e.dialect == migrations.Postgres {
				undo = "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"
			}
			n := 0
			err := s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
				n++
				_, err := tx.ExecContext(ctx, undo)
				return err
			})
			require.ErrorIs(t, err, fence.ErrRetry)
			assert.Equal(t, 10, n)
		})
	}
}

// Promise 6 of docs/guarantees.md: if a transaction does not begin because the lease has ended, the error says so.
func TestTxSaysThatTheLeaseHasEnded(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, lease.Release(t.Context()))
		err := s.guard.Tx(lease.Context(), func(context.Context, *sql.Tx) error { return nil })
		require.ErrorIs(t, err, rowlock.ErrReleased)
		require.ErrorIs(t, err, context.Canceled)
	})
}
