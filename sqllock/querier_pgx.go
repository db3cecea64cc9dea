package sqllock

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
)

// pgxConn is a *pgxpool.Conn, a *pgx.Conn or a pgx.Tx.
type pgxConn interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
}

var (
	_ pgxConn = (*pgxpool.Conn)(nil)
	_ pgxConn = (*pgx.Conn)(nil)
	_ pgxConn = (pgx.Tx)(nil)
)

// pgxPool is a querier that takes a connection for each statement.
type pgxPool struct{ pool *pgxpool.Pool }

func (q pgxPool) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer conn.Release()
	return pgxQuerier{conn}.query(ctx, statement, args, read)
}

func (q pgxPool) exec(ctx context.Context, statement string, args ...any) (result, error) {
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return result{}, driver.NotApplied(err)
	}
	defer conn.Release()
	return pgxQuerier{conn}.exec(ctx, statement, args...)
}

// pgxQuerier is a querier on one connection or transaction.
type pgxQuerier struct{ conn pgxConn }

func (q pgxQuerier) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	r, err := q.conn.Query(ctx, statement, args...)
	if err != nil {
		return unsent(err)
	}
	defer r.Close()
	return finish(r, read)
}

func (q pgxQuerier) exec(ctx context.Context, statement string, args ...any) (result, error) {
	tag, err := q.conn.Exec(ctx, statement, args...)
	if err != nil {
		return result{}, unsent(err)
	}
	return result{affected: tag.RowsAffected()}, nil
}
