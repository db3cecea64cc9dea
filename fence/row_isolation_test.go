package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

type rowCheck func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error

var rowChecks = map[string]rowCheck{
	"CheckRow": func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
		return s.guard.CheckRow(lease.Context(), tx, orderRow, 7)
	},
	"plain SELECT": func(ctx context.Context, _ *store, tx *sql.Tx, lease *rowlock.Lease) error {
		var token int64
		err := tx.QueryRowContext(ctx, "SELECT lock_token FROM orders WHERE id = 7").Scan(&token)
		if err == nil && token > int64(lease.Token()) {
			err = errRefused
		}
		return err
	},
}

// rowSteps are the schedules S1, S2 and S3 of schedules_test.go, with CheckRow instead of Check. Each schedule runs the
// steps of the old holder. At the point where the successor begins, the schedule calls the function meanwhile.
var rowSteps = map[string]func(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease, check rowCheck, meanwhile func()) error{
	"S1": func(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease, check rowCheck, meanwhile func()) error {
		require.NoError(t, check(t.Context(), s, tx, old))
		meanwhile()
		return s.append(t.Context(), tx, old)
	},
	"S2": func(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease, check rowCheck, meanwhile func()) error {
		var n int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n))
		meanwhile()
		if err := check(t.Context(), s, tx, old); err != nil {
			return err
		}
		return s.append(t.Context(), tx, old)
	},
	"S3": func(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease, check rowCheck, meanwhile func()) error {
		require.NoError(t, check(t.Context(), s, tx, old))
		require.NoError(t, s.append(t.Context(), tx, old))
		meanwhile()
		return nil
	},
}

// startSuccessor starts the successor, and returns when the successor is done or waits for a lock. The function wait
// waits until the successor is done. On SQLite a successor that would have to wait gives up, and the function wait
// starts it again.
func (s *store) startSuccessor(t *testing.T, newer *rowlock.Lease, level sql.IsolationLevel) (wait func() error) {
	t.Helper()
	if s.dialect == migrations.SQLite {
		hasty := s.open(t, strings.Replace(s.dsn, "busy_timeout(5000)", "busy_timeout(50)", 1))
		if s.successor(t, hasty, newer, level, 1) == nil {
			return func() error { return nil }
		}
		return func() error { return s.successor(t, s.db, newer, level, 1) }
	}
	done := make(chan error, 1)
	go func() { done <- s.successor(t, s.db, newer, level, 5) }()
	return s.untilDoneOrWaiting(t, done).wait
}

// At every isolation level of every engine, no older holder writes a row's data after the successor's CheckRow.
// The successor sees the older holder's last write without a seal. With a plain SELECT instead of CheckRow,
// the same steps lead to a stale write.
func TestNoStaleWriteBehindCheckRow(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.withOrders(t)
			for _, level := range e.scheduled() {
				for _, next := range slices.Compact([]sql.IsolationLevel{sql.LevelDefault, level}) {
					for name, check := range rowChecks {
						if name != "CheckRow" && next != sql.LevelDefault {
							continue
						}
						for steps, run := range rowSteps {
							t.Run(fmt.Sprintf("%s then %s/%s/%s", level, next, name, steps), func(t *testing.T) {
								old, newer := s.order(t)
								tx := s.begin(t, level)
								var wait func() error
								err := run(t, s, tx, old, check, func() { wait = s.startSuccessor(t, newer, next) })
								if err == nil {
									err = tx.Commit()
								}
								_ = tx.Rollback()
								require.NoError(t, wait())
								assert.Equal(t, broken(s, level, steps, strings.Replace(name, "CheckRow", "Check", 1)), s.violated(t), "violated; the old holder's error: %v", err)
								if name == "CheckRow" && err != nil {
									assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrRetry), "%v", err)
								}
							})
						}
					}
				}
			}
		})
	}
}
