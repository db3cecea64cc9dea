package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Conn is a *pgxpool.Conn, a *pgx.Conn or a pgx.Tx.
type Conn interface {
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

var (
	_ Conn = (*pgxpool.Conn)(nil)
	_ Conn = (*pgx.Conn)(nil)
	_ Conn = (pgx.Tx)(nil)
)

// pgxPool is a querier that acquires a connection for each statement.
type pgxPool struct {
	pool *pgxpool.Pool
	half bool // true if a statement waits for a connection for at most half of the time until ctx's deadline
}

func (q pgxPool) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if q.half {
		var cancel context.CancelFunc
		ctx, cancel = sqlbase.HalfOf(ctx)
		defer cancel()
	}
	conn, err := q.pool.Acquire(ctx)
	switch {
	case err == nil:
		return conn, nil
	case q.half:
		return nil, driver.NotApplied(err)
	default:
		return nil, driver.NotApplied(usageOf(q.pool).Unlent(ctx, err))
	}
}

func (q pgxPool) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	return q.Lend(ctx, func(on sqlbase.Querier) error { return on.Query(ctx, statement, args, read) })
}

func (q pgxPool) Exec(ctx context.Context, statement string, args ...any) (r sqlbase.Result, err error) {
	err = q.Lend(ctx, func(on sqlbase.Querier) (err error) {
		r, err = on.Exec(ctx, statement, args...)
		return err
	})
	return r, err
}

// Lend implements [sqlbase.Lender].
func (q pgxPool) Lend(ctx context.Context, work func(sqlbase.Querier) error) error {
	conn, err := q.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return work(On(conn))
}

// On returns a querier that uses one connection or transaction of pgx.
func On(conn Conn) sqlbase.Querier { return pgxQuerier{conn} }

type pgxQuerier struct{ conn Conn }

func (q pgxQuerier) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	r, err := q.conn.Query(ctx, statement, args...)
	if err != nil {
		return sqlbase.Unsent(err)
	}
	defer r.Close()
	return sqlbase.Finish(r, read)
}

func (q pgxQuerier) Exec(ctx context.Context, statement string, args ...any) (sqlbase.Result, error) {
	tag, err := q.conn.Exec(ctx, statement, args...)
	if err != nil {
		return sqlbase.Result{}, sqlbase.Unsent(err)
	}
	return sqlbase.Result{Affected: tag.RowsAffected()}, nil
}

func usageOf(pool *pgxpool.Pool) sqlbase.Usage {
	s := pool.Stat()
	return sqlbase.Usage{InUse: int(s.TotalConns() - s.IdleConns()), Most: int(s.MaxConns())}
}

// reserveFor returns the reserve for a pool of pgx. The reserve's connection has the configuration of the pool,
// including its hooks.
func reserveFor(pool *pgxpool.Pool) *sqlbase.Reserve {
	return sqlbase.NewReserve(func() (*sqlbase.Spare, error) {
		config := pool.Config()
		config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
		if limit := config.ConnConfig.ConnectTimeout; limit <= 0 || limit > sqlbase.ConnectLimit {
			config.ConnConfig.ConnectTimeout = sqlbase.ConnectLimit
		}
		one, err := pgxpool.NewWithConfig(context.Background(), config)
		if err != nil {
			return nil, err
		}
		return &sqlbase.Spare{Q: pgxPool{one, true}, Close: one.Close}, nil
	})
}
