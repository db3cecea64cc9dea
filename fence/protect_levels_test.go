package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

// showing is a transaction that shows the trigger the lease without any check: what a session has
// kept from an earlier transaction, or what somebody set by hand.
func showing(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
	nonce := lease.Nonce().String()
	statement := map[migrations.Dialect]string{
		migrations.Postgres: "SELECT set_config('rowlock.nonces', '" + nonce + "', false)",
		migrations.MySQL:    "SET @rowlock_nonces = '" + nonce + "'",
		migrations.SQLite:   "INSERT INTO rowlock_lease_fence_pass (nonce) VALUES ('" + nonce + "')",
	}[s.dialect]
	_, err := tx.ExecContext(ctx, statement)
	return err
}

// The trigger alone, without any lock that a check has taken, lets no stale write commit at any
// isolation level: it locks the mark itself, and refuses who is too late.
func TestTheTriggerAloneIsSafeAtAnyIsolationLevel(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for _, level := range e.levels {
				for _, check := range []pattern{
					{"shown", showing, appending, everywhere},
					{"Check", func(_ context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
						return s.guard.Check(lease.Context(), tx)
					}, appending, everywhere},
				} {
					for _, sch := range schedules {
						t.Run(fmt.Sprintf("%s/%s/%s", level, check.name, sch.name), func(t *testing.T) {
							s := e.fresh(t)
							s.protect(t)
							check.write = func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
								err := s.append(ctx, tx, lease)
								if err == nil && s.dialect == migrations.SQLite {
									err = s.guard.Uncheck(ctx, tx)
								}
								return s.guard.Explain(err)
							}
							err := sch.run(t, s, level, check)
							assert.False(t, s.violated(t), "the old holder's error: %v", err)
							if err != nil && !errors.Is(err, fence.ErrStale) && !errors.Is(err, fence.ErrRetry) {
								assert.True(t, undone(err), "%v", err)
							}
							t.Log(describe(false, err))
						})
					}
				}
			}
		})
	}
}

// undone recognises what a caller's own statement answers when the transaction is to be run again.
func undone(err error) bool {
	return sqlerror.State(err) == "40001" || sqlerror.MySQL(err) == 1020 || sqlerror.SQLite(err)&0xff == 5
}
