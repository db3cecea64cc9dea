package postgres

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// runner runs statements through one querier.
type runner struct {
	q   sqlbase.Querier
	sql map[string]string

	// unprepared becomes true when a prepared statement of pgx is reported as unknown or as a duplicate. The cause is
	// a pooler that mixes up sessions. From then on, statements are sent without being prepared.
	unprepared *atomic.Bool
}

// run passes args to the given function. If statements must not be prepared, run first adds the mode in which pgx does
// not prepare them. It repeats the call while the server reports that it has undone the statement and a retry may
// succeed.
func (r runner) run(ctx context.Context, args []any, once func(args []any) error) error {
	return sqlbase.Retry(ctx, transient, func() error {
		prepared := !r.unprepared.Load()
		err := once(r.args(args))
		if prepared && mixedUp(err) {
			r.unprepared.Store(true)
			err = once(r.args(args))
		}
		return err
	})
}

// args prepends the mode in which pgx sends statements without preparing them, if unprepared is true.
func (r runner) args(args []any) []any {
	if !r.unprepared.Load() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// mixedUp reports whether err is duplicate_prepared_statement or invalid_sql_statement_name. Such errors come from a
// transaction pooler that does not track prepared statements (PgBouncer before 1.21). The statement did not run.
// mixedUp recognises only errors of pgx, because other drivers have no mode without prepared statements.
func mixedUp(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "42P05" || e.Code == "26000")
}

// one runs a statement that returns at most one row, and reports whether it returned one.
func (r runner) one(ctx context.Context, verb string, args []any, dest ...any) (found bool, err error) {
	err = r.run(ctx, args, func(args []any) error {
		found, err = sqlbase.QueryOne(ctx, r.q, r.sql[verb], args, dest...)
		return err
	})
	return found, err
}

// exec runs a statement that returns no rows.
func (r runner) exec(ctx context.Context, verb string, args ...any) error {
	return r.run(ctx, args, func(args []any) error {
		_, err := r.q.Exec(ctx, r.sql[verb], args...)
		return err
	})
}
