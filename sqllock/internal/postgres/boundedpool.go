package postgres

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// boundedPool is a querier on a pool whose driver may ignore contexts. A call ends with its context nevertheless. The
// pool does not lend the connection again until the abandoned call has ended.
type boundedPool struct{ db *sql.DB }

func (q boundedPool) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	return lend(ctx, q.db, q.conn, func(conn *sql.Conn) error {
		return bounded.Query(ctx, func(feed func(sqlbase.Rows) error) error {
			defer conn.Close() // before the caller takes the next connection
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
