package sqllock

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/internal/bounded"
)

// boundedPool is a querier on a pool whose driver may not heed a context: a call ends with its context all the same. The connection is
// lent to nobody before what was left behind has ended.
type boundedPool struct{ db *sql.DB }

func (q boundedPool) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	return lend(ctx, q.db, q.conn, func(conn *sql.Conn) error {
		return bounded.Query(ctx, func(feed func(rows) error) error {
			defer conn.Close() // before the caller asks for the next one
			return sqlQuerier{conn}.query(ctx, statement, args, feed)
		}, read)
	})
}

func (q boundedPool) exec(ctx context.Context, statement string, args ...any) (r result, err error) {
	err = lend(ctx, q.db, q.conn, func(conn *sql.Conn) error {
		r, err = bounded.Do(ctx, func() (result, error) {
			defer conn.Close()
			return sqlQuerier{conn}.exec(ctx, statement, args...)
		}, func(result) {})
		return err
	})
	return r, err
}

func (q boundedPool) conn(ctx context.Context) (*sql.Conn, error) {
	return bounded.Do(ctx, func() (*sql.Conn, error) { return q.db.Conn(ctx) }, func(c *sql.Conn) { _ = c.Close() })
}
