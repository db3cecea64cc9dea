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
)

// once runs fn for a tick of "r".
func (s *store) once(t *testing.T, tick string, fn func(ctx context.Context, lease *rowlock.Lease) error) error {
	t.Helper()
	locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour))
	require.NoError(t, err)
	t.Cleanup(func() { _ = locker.Close() }) // Close returns an error for a lease that was lost
	return rowlock.Once(t.Context(), locker, "r", tick, fn, rowlock.Fenced(s.guard))
}

// last returns the last tick of "r" that is done, and the state of "r".
func (s *store) last(t *testing.T) (tick string, state driver.State) {
	t.Helper()
	now, err := s.locks.Inspect(t.Context(), driver.Key{Name: "r"})
	require.NoError(t, err)
	return now.Done, now.State
}

// ReleaseOnCommit records the tick in the transaction that writes the data. The tick is recorded as done if and only if
// the data is committed.
func TestReleaseOnCommitRecordsTheTick(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		for _, tick := range []string{"2026-11-23T00:00:00Z", `it's 'x' "y" \z %s $1 {"a": null}`} {
			job := func(ctx context.Context, lease *rowlock.Lease) error {
				require.Equal(t, tick, lease.Tick())
				return s.guard.ReleaseOnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
					before, _ := s.last(t)
					require.NotEqual(t, tick, before, "not before the commit")
					return s.append(ctx, tx, lease)
				})
			}
			require.NoError(t, s.once(t, tick, job))
			now, state := s.last(t)
			assert.Equal(t, tick, now)
			assert.Equal(t, driver.StateFree, state)
			require.ErrorIs(t, s.once(t, tick, job), rowlock.ErrDone)
		}
		assert.EqualValues(t, 2, s.int(t, "SELECT count(*) FROM ledger"))
		require.NoError(t, s.guard.ReleaseOnCommit(s.sealed(t).Context(), func(context.Context, *sql.Tx) error { return nil }))
		now, _ := s.last(t)
		assert.NotEmpty(t, now, "a release without a tick leaves the tick")
	})
}

// A transaction that rolls back leaves the tick open and the lease held.
func TestReleaseOnCommitThatRollsBackLeavesTheTickOpen(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		wrong := errors.New("wrong")
		require.ErrorIs(t, s.once(t, "1", func(ctx context.Context, lease *rowlock.Lease) error {
			err := s.guard.ReleaseOnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
				require.NoError(t, s.append(ctx, tx, lease))
				return wrong
			})
			require.NoError(t, lease.Err())
			tick, state := s.last(t)
			assert.Empty(t, tick)
			assert.Equal(t, driver.StateHeld, state)
			return err
		}), wrong)
		tick, state := s.last(t)
		assert.Empty(t, tick)
		assert.Equal(t, driver.StateFree, state)
		assert.Zero(t, s.int(t, "SELECT count(*) FROM ledger"))
		require.NoError(t, s.once(t, "1", func(ctx context.Context, lease *rowlock.Lease) error {
			return s.guard.ReleaseOnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
		}), "the next caller runs the tick")
	})
}

// A holder whose lease was ended by force commits nothing and records no tick, even if the next holder did the same
// tick or a later one.
func TestReleaseOnCommitOfAStaleHolderRecordsNoTick(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		for _, ticks := range [][2]string{{"1", "1"}, {"2", "3"}} { // in this order, because a larger number makes the smaller ones done
			stale, next := ticks[0], ticks[1]
			commit := func(ctx context.Context, lease *rowlock.Lease) error {
				return s.guard.ReleaseOnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
			}
			before := s.int(t, "SELECT count(*) FROM ledger")
			err := s.once(t, stale, func(ctx context.Context, lease *rowlock.Lease) error {
				require.NoError(t, s.locks.ForceRelease(t.Context(), driver.Key{Name: "r"}, lease.Token(), true))
				require.NoError(t, s.once(t, next, commit))
				return commit(ctx, lease)
			})
			require.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, rowlock.ErrLost), "%v", err)
			tick, _ := s.last(t)
			assert.Equal(t, next, tick)
			assert.Equal(t, before+1, s.int(t, "SELECT count(*) FROM ledger"))
		}
	})
}
