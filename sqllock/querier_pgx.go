package sqllock

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
)

// pgxConn is a *pgxpool.Conn or a pgx.Tx.
type pgxConn interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

var (
	_ pgxConn = (*pgxpool.Conn)(nil)
	_ pgxConn = (pgx.Tx)(nil)
)

// pgxPool is a querier that takes a connection for each statement.
type pgxPool struct{ pool *pgxpool.Pool }

func (q pgxPool) query(ctx context.Context, statement string, args ...any) (rows, error) {
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return nil, driver.NotApplied(err)
	}
	r, err := conn.Query(ctx, statement, args...)
	if err != nil {
		conn.Release()
		return nil, unsent(err)
	}
	return &pgxRows{Rows: r, conn: conn}, nil
}

func (q pgxPool) exec(ctx context.Context, statement string, args ...any) (result, error) {
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return result{}, driver.NotApplied(err)
	}
	defer conn.Release()
	return pgxQuerier{conn}.exec(ctx, statement, args...)
}

type pgxRows struct {
	pgx.Rows

	conn *pgxpool.Conn
}

// Close may be called more than once, as that of pgx.Rows may.
func (r *pgxRows) Close() {
	r.Rows.Close()
	if r.conn != nil {
		r.conn.Release()
		r.conn = nil
	}
}

// pgxQuerier is a querier on one connection or transaction.
type pgxQuerier struct{ conn pgxConn }

func (q pgxQuerier) query(ctx context.Context, statement string, args ...any) (rows, error) {
	r, err := q.conn.Query(ctx, statement, args...)
	if err != nil {
		return nil, unsent(err)
	}
	return r, nil
}

func (q pgxQuerier) exec(ctx context.Context, statement string, args ...any) (result, error) {
	tag, err := q.conn.Exec(ctx, statement, args...)
	if err != nil {
		return result{}, unsent(err)
	}
	return result{affected: tag.RowsAffected()}, nil
}
