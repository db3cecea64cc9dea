package fence

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/bounded"
)

// querier executes statements on a connection of database/sql or pgx.
type querier interface {
	// row scans the first row of the result, and reports whether there was one.
	row(ctx context.Context, statement string, args []any, dest ...any) (bool, error)
	// each calls scan for every row of the result.
	each(ctx context.Context, statement string, args []any, scan func(row) error) error
	exec(ctx context.Context, statement string, args ...any) error
	// change executes a statement, and returns the number of affected rows.
	change(ctx context.Context, statement string, args ...any) (rows int64, err error)
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

// answer is the result of a query in database/sql or pgx.
type answer = bounded.Rows

// Transaction is an open transaction of database/sql: a *sql.Tx, or a *sql.Conn on which the caller has begun one.
type Transaction interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var (
	_ Transaction = (*sql.Tx)(nil)
	_ Transaction = (*sql.Conn)(nil)
)

type sqlQuerier struct {
	conn    Transaction
	witness *witness // or nil
}

func (q sqlQuerier) witnessed() bool { return q.witness.saw() }

func (q sqlQuerier) query(ctx context.Context, statement string, args []any) (*sql.Rows, error) {
	return witnessed(q.witness, args, func(args []any) (*sql.Rows, error) { return q.conn.QueryContext(ctx, statement, args...) })
}

func (q sqlQuerier) row(ctx context.Context, statement string, args []any, dest ...any) (bool, error) {
	rows, err := q.query(ctx, statement, args)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return one(rows, dest)
}

func (q sqlQuerier) each(ctx context.Context, statement string, args []any, scan func(row) error) error {
	rows, err := q.query(ctx, statement, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	return every(rows, scan)
}

func (q sqlQuerier) exec(ctx context.Context, statement string, args ...any) error {
	_, err := q.result(ctx, statement, args)
	return err
}

func (q sqlQuerier) change(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := q.result(ctx, statement, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (q sqlQuerier) result(ctx context.Context, statement string, args []any) (sql.Result, error) {
	return witnessed(q.witness, args, func(args []any) (sql.Result, error) { return q.conn.ExecContext(ctx, statement, args...) })
}

// pgxConn has the methods of pgx.Tx that a pgxQuerier calls.
type pgxConn interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

var _ pgxConn = (pgx.Tx)(nil)

type pgxQuerier struct {
	conn    pgxConn
	witness *witness // or nil
}

func (q pgxQuerier) witnessed() bool { return q.witness.saw() }

func (q pgxQuerier) query(ctx context.Context, statement string, args []any) (pgx.Rows, error) {
	return witnessed(q.witness, args, func(args []any) (pgx.Rows, error) { return q.conn.Query(ctx, statement, args...) })
}

func (q pgxQuerier) row(ctx context.Context, statement string, args []any, dest ...any) (bool, error) {
	rows, err := q.query(ctx, statement, args)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return one(rows, dest)
}

func (q pgxQuerier) each(ctx context.Context, statement string, args []any, scan func(row) error) error {
	rows, err := q.query(ctx, statement, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	return every(rows, scan)
}

func (q pgxQuerier) exec(ctx context.Context, statement string, args ...any) error {
	_, err := q.change(ctx, statement, args...)
	return err
}

func (q pgxQuerier) change(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := witnessed(q.witness, args, func(args []any) (pgconn.CommandTag, error) { return q.conn.Exec(ctx, statement, args...) })
	return tag.RowsAffected(), err
}

// one scans the first row of a result. It reads the result to its end, because an error may follow the last row.
func one(rows answer, dest []any) (found bool, err error) {
	found = rows.Next()
	if found {
		if err := rows.Scan(dest...); err != nil {
			return false, err
		}
	}
	for rows.Next() { //nolint:revive // reads the remaining rows, to reach a late error
	}
	return found, rows.Err()
}

func every(rows answer, scan func(row) error) error {
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
