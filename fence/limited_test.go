package fence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// The session's time limit for statements does not limit the wait of a seal. Only ctx and the lease's trust limit the
// wait. The error says which of the two has ended the wait. If the server interrupts a seal, Seal retries, and succeeds
// when nothing blocks it. (MySQL has such a limit only for reads.)
func TestAStatementLimitDoesNotEndASeal(t *testing.T) {
	t.Parallel()
	limits := map[string]string{"postgres": "SET statement_timeout = 50", "mariadb": "SET max_statement_time = 0.05"}
	for _, e := range servers {
		if limits[e.name] == "" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			old, newer := s.two(t)
			tx := s.begin(t, 0)
			require.NoError(t, s.guard.Check(old.Context(), tx))
			guard, _ := s.limited(t, limits[e.name])
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := guard.Seal(ctx, newer)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, fence.ErrRetry)

			l, err := rowlock.New(memlock.New(), rowlock.TTL(5*time.Second), rowlock.RenewEvery(500*time.Millisecond))
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close()) }()
			brief, err := l.Acquire(t.Context(), "r")
			require.NoError(t, err)
			err = guard.Seal(t.Context(), brief)
			require.ErrorIs(t, err, fence.ErrRetry)
			require.ErrorIs(t, err, rowlock.ErrUnavailable)

			done := make(chan error, 1)
			go func() { done <- guard.Seal(t.Context(), newer) }()
			require.NoError(t, tx.Commit())
			require.NoError(t, <-done)
		})
	}
}

// If the database accepts no writes, for example because the primary has become a standby, the error of Seal is a
// rowlock.ErrUnavailable. After such an error, Lead tries to acquire the lock again.
func TestAReadOnlyDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		settings := map[migrations.Dialect][2]string{
			migrations.Postgres: {"SET default_transaction_read_only = on", "SET default_transaction_read_only = off"},
			migrations.MySQL:    {"SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"},
		}[e.dialect]
		if settings[0] == "" { // a SQLite file cannot become a standby
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			guard, set := s.limited(t, settings[0])
			require.ErrorIs(t, guard.Seal(t.Context(), s.lease(t, "r")), rowlock.ErrUnavailable)

			refused := false
			seal := sealer(func(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
				err := guard.Seal(ctx, lease, resources...)
				if err != nil {
					refused = true
					set(settings[1])
				}
				return err
			})
			l, err := rowlock.New(s.locks, rowlock.Fenced(seal))
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close()) }()
			require.NoError(t, rowlock.Lead(t.Context(), l, "led", func(context.Context, *rowlock.Lease) error { return nil }))
			require.True(t, refused)
		})
	}
}

// sealer is a function that implements rowlock.Sealer.
type sealer func(ctx context.Context, lease *rowlock.Lease, resources ...string) error

func (s sealer) Seal(ctx context.Context, lease *rowlock.Lease, resources ...string) error {
	return s(ctx, lease, resources...)
}
