package postgres

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// boundedPool is a querier that uses a pool whose driver may ignore contexts. Its calls return when their context
// ends, even if the driver's call does not. In that case the connection stays in use until the driver's call ends.
type boundedPool struct{ db *sql.DB }

func (q boundedPool) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	return lend(ctx, q.db, q.conn, func(conn *sql.Conn) error {
		return bounded.Query(ctx, func(feed func(sqlbase.Rows) error) error {
			defer conn.Close() // returns the connection before the caller can take the next one
			return sqlbase.On(conn).Query(ctx, statement, args, feed)
		}, read)
	})
}

func (q boundedPool) Exec(ctx context.Context, statement string, args ...any) (r sqlbase.Result, err error) {
	err = lend(ctx, q.db, q.conn, func(conn *sql.Conn) error {
		r, err = bounded.Do(ctx, func() (sqlbase.Result, error) {
			defer conn.Close()
			return sqlbase.On(conn).Exec(ctx, statement, args...)
		}, func(sqlbase.Result) {})
		return err
	})
	return r, err
}

func (q boundedPool) conn(ctx context.Context) (*sql.Conn, error) {
	return bounded.Do(ctx, func() (*sql.Conn, error) { return q.db.Conn(ctx) }, func(c *sql.Conn) { _ = c.Close() })
}
