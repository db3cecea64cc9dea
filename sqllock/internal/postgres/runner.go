package postgres

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// runner runs the statements for PostgreSQL through one querier.
type runner struct {
	q   sqlbase.Querier
	sql map[string]string

	// unprepared is set once a server has answered that it does not know, or knows already, a
	// statement that pgx had prepared: there is a pooler in between that mixes up sessions.
	unprepared *atomic.Bool
}

// run calls once with the arguments that suit the connection, and again for as long as the server
// answers that the statement had no effect and may be sent again.
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

// args puts the mode in front that makes pgx send statements without preparing them.
func (r runner) args(args []any) []any {
	if !r.unprepared.Load() {
		return args
	}
	return append([]any{pgx.QueryExecModeExec}, args...)
}

// mixedUp recognises a transaction pooler that does not follow prepared statements (PgBouncer
// before 1.21): duplicate_prepared_statement and invalid_sql_statement_name. Nothing has run. Other
// drivers than pgx have no mode to fall back to.
func mixedUp(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "42P05" || e.Code == "26000")
}

// one runs a statement that answers with one row at most, and reports whether it did.
func (r runner) one(ctx context.Context, verb string, args []any, dest ...any) (found bool, err error) {
	err = r.run(ctx, args, func(args []any) error {
		found, err = sqlbase.QueryOne(ctx, r.q, r.sql[verb], args, dest...)
		return err
	})
	return found, err
}

// exec runs a statement that answers nothing.
func (r runner) exec(ctx context.Context, verb string, args ...any) error {
	return r.run(ctx, args, func(args []any) error {
		_, err := r.q.Exec(ctx, r.sql[verb], args...)
		return err
	})
}
