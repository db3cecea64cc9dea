package sqllock

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// querier runs one statement: the slice of database/sql and of pgx that lease rows need.
type querier interface {
	query(ctx context.Context, statement string, args ...any) (rows, error)
	exec(ctx context.Context, statement string, args ...any) (result, error)
}

// rows is what *sql.Rows and pgx.Rows have in common.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// result is what was changed, and on MySQL the value of LAST_INSERT_ID.
type result struct {
	affected, lastID int64
}

// sqlConn is a *sql.DB, *sql.Conn or *sql.Tx.
type sqlConn interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var (
	_ sqlConn = (*sql.DB)(nil)
	_ sqlConn = (*sql.Conn)(nil)
	_ sqlConn = (*sql.Tx)(nil)
)

type sqlQuerier struct{ conn sqlConn }

func (q sqlQuerier) query(ctx context.Context, statement string, args ...any) (rows, error) {
	r, err := q.conn.QueryContext(ctx, statement, args...) //nolint:rowserrcheck,sqlclosecheck // the caller does
	if err != nil {
		return nil, err
	}
	return sqlRows{r}, nil
}

func (q sqlQuerier) exec(ctx context.Context, statement string, args ...any) (result, error) {
	r, err := q.conn.ExecContext(ctx, statement, args...)
	if err != nil {
		return result{}, err
	}
	affected, err := r.RowsAffected()
	if err != nil {
		return result{}, err
	}
	lastID, err := r.LastInsertId()
	if err != nil {
		lastID = 0 // Postgres drivers have none
	}
	return result{affected: affected, lastID: lastID}, nil
}

type sqlRows struct{ *sql.Rows }

// Close drops the error: every caller reads Err, which holds what went wrong.
func (r sqlRows) Close() { _ = r.Rows.Close() }

// pgxConn is a *pgxpool.Pool or a pgx.Tx.
type pgxConn interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

var (
	_ pgxConn = (*pgxpool.Pool)(nil)
	_ pgxConn = (pgx.Tx)(nil)
)

type pgxQuerier struct{ conn pgxConn }

func (q pgxQuerier) query(ctx context.Context, statement string, args ...any) (rows, error) {
	r, err := q.conn.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (q pgxQuerier) exec(ctx context.Context, statement string, args ...any) (result, error) {
	tag, err := q.conn.Exec(ctx, statement, args...)
	return result{affected: tag.RowsAffected()}, err
}
