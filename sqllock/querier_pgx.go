package sqllock

import (
	"context"
	"time"

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
type pgxPool struct {
	pool *pgxpool.Pool
	half bool // waits for a connection for half of the time only
}

func (q pgxPool) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if q.half {
		var cancel context.CancelFunc
		ctx, cancel = halfOf(ctx)
		defer cancel()
	}
	conn, err := q.pool.Acquire(ctx)
	switch {
	case err == nil:
		return conn, nil
	case q.half:
		return nil, driver.NotApplied(err)
	default:
		return nil, driver.NotApplied(usageOfPgx(q.pool).unlent(ctx, err))
	}
}

// halfOf returns a context that ends after half of ctx's time.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	return context.WithCancel(ctx)
}

func (q pgxPool) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	conn, err := q.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return pgxQuerier{conn}.query(ctx, statement, args, read)
}

func (q pgxPool) exec(ctx context.Context, statement string, args ...any) (result, error) {
	conn, err := q.acquire(ctx)
	if err != nil {
		return result{}, err
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
