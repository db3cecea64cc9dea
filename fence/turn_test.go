package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/sqllock"
)

// whoWaits lists the calls that wait for the transactions that have checked a mark.
var whoWaits = map[string]func(t *testing.T, s *store, old *rowlock.Lease) error{
	"Seal": func(t *testing.T, s *store, _ *rowlock.Lease) error {
		return s.guard.Seal(t.Context(), s.lease(t, "r"))
	},
	"Reset": func(t *testing.T, s *store, old *rowlock.Lease) error {
		return s.guard.Reset(t.Context(), "", "r", old.Token())
	},
}

// Promise: on PostgreSQL a seal waits only for transactions that were checked before it began to wait.
// A later check fails with an ErrRetry. The same holds for Reset, a grant that seals and Claim.
// (MySQL and MariaDB grant row locks in the order of the requests.)
func TestASealIsNotOvertakenByLaterChecks(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	for name, wait := range whoWaits {
		t.Run(name, func(t *testing.T) {
			s := s.again(t)
			old := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), old))
			s.laterChecksAreRefused(t, old, func() error { return wait(t, s, old) })
		})
	}
	t.Run("Claim", func(t *testing.T) {
		s := s.again(t)
		old := s.lease(t, "r")
		require.NoError(t, s.guard.Claim(t.Context(), old))
		s.laterChecksAreRefused(t, old, func() error { return s.guard.Claim(t.Context(), s.lease(t, "r")) })
	})
	t.Run("sealed grant", func(t *testing.T) {
		s := s.again(t)
		locker := lockerOn(t, sqllock.Postgres(s.db), rowlock.Fenced(s.guard))
		old, err := locker.Acquire(t.Context(), "r")
		require.NoError(t, err)
		s.laterChecksAreRefused(t, old, func() error {
			lease, err := steal(t.Context(), locker, sqllock.Postgres(s.db))
			if err == nil {
				err = lease.Release(t.Context())
			}
			return err
		})
	})
}

// laterChecksAreRefused checks in two transactions of the holder old, and calls the function wait, which waits for
// these two. Checks in later transactions of the same holder must then fail with an ErrRetry.
func (s *store) laterChecksAreRefused(t *testing.T, old *rowlock.Lease, wait func() error) {
	t.Helper()
	first, second := s.begin(t, sql.LevelDefault), s.begin(t, sql.LevelDefault)
	require.NoError(t, s.guard.Check(old.Context(), first))
	require.NoError(t, s.guard.Check(old.Context(), second))
	done := make(chan error, 1)
	go func() { done <- wait() }()
	waiting := s.untilDoneOrWaiting(t, done)
	require.True(t, waiting.waits)
	require.NoError(t, s.guard.Check(old.Context(), first), "it was open before")
	for _, level := range s.levels {
		later := s.begin(t, level)
		require.ErrorIs(t, s.guard.Check(old.Context(), later), fence.ErrRetry, "it would overtake the waiting call, at %s", level)
		// This transaction stays open, because the waiting call must not wait for it.
	}
	ctx, cancel := context.WithTimeout(old.Context(), waitLimit)
	defer cancel()
	err := s.guard.Tx(ctx, func(context.Context, *sql.Tx) error { return errors.New("the check succeeded") })
	require.ErrorIs(t, err, fence.ErrRetry)
	require.NoError(t, first.Commit())
	require.NoError(t, second.Commit())
	require.NoError(t, waiting.wait())
}
