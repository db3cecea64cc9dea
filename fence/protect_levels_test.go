package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

// showing makes the triggers accept a lease that the transaction has not checked. In practice, the nonce of the lease
// may be left from an earlier transaction of the session, or a user may have set it.
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

// ways are patterns that fire one trigger each, on the protected table named table. Each pattern writes to the ledger
// only after the protected table has accepted the first write.
var ways = []struct {
	pattern

	table string
}{
	{pattern{"shown, INSERT", showing, protectedWrite(""), everywhere}, "ledger"},
	{pattern{"shown, UPDATE", showing, protectedWrite("UPDATE elsewhere SET n = n + 1"), everywhere}, "elsewhere"},
	{pattern{"shown, DELETE", showing, protectedWrite("DELETE FROM elsewhere"), everywhere}, "elsewhere"},
}

func protectedWrite(first string) func(context.Context, *store, *sql.Tx, *rowlock.Lease) error {
	return func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
		var err error
		if first != "" {
			_, err = tx.ExecContext(ctx, first)
		}
		if err == nil {
			err = s.append(ctx, tx, lease)
		}
		if err == nil && s.dialect == migrations.SQLite {
			err = s.guard.Uncheck(ctx, tx)
		}
		return s.guard.Explain(err)
	}
}

// Even without a check, the triggers allow no stale write at any isolation level, because they lock the mark
// themselves.
func TestTheTriggerAloneIsSafeAtAnyIsolationLevel(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			for _, level := range e.scheduled() {
				for _, way := range ways {
					for _, sch := range schedules {
						t.Run(fmt.Sprintf("%s/%s/%s", level, way.name, sch.name), func(t *testing.T) {
							s := s.again(t, fence.Protected())
							s.exec(t, "INSERT INTO elsewhere VALUES (1)")
							require.NoError(t, s.guard.Protect(t.Context(), way.table, "r"))
							defer func() { require.NoError(t, s.guard.Unprotect(t.Context(), way.table)) }()
							err := sch.run(t, s, level, way.pattern)
							assert.False(t, s.violated(t), "the old holder's error: %v", err)
							if err != nil && !errors.Is(err, fence.ErrStale) && !errors.Is(err, fence.ErrRetry) {
								assert.True(t, undone(err), "%v", err)
							}
						})
					}
				}
			}
		})
	}
}

// undone reports whether an error of a caller's own statement means that the transaction has to run again.
func undone(err error) bool {
	return sqlerror.State(err) == "40001" || sqlerror.MySQL(err) == 1020 || sqlerror.SQLite(err)&0xff == 5
}
