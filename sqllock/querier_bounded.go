package sqllock

import (
	"context"
	"database/sql"
)

// boundedPool is a querier on a pool whose driver may not heed a context: lib/pq opens a connection without one, and waits
// for an answer for as long as the connection stands. A call ends with its context all the same; what it has left behind
// ends with the connection, which is not lent to anybody before.
type boundedPool struct{ db *sql.DB }

func (q boundedPool) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	return lend(ctx, q.conn, func(conn *sql.Conn) error {
		f := newFed(ctx)
		go func() {
			err := sqlQuerier{conn}.query(ctx, statement, args, f.feed)
			_ = conn.Close() // before the caller asks for the next one
			f.done <- err
		}()
		err := read(f)
		if end := f.finish(); err == nil {
			err = end
		}
		return err
	})
}

func (q boundedPool) exec(ctx context.Context, statement string, args ...any) (r result, err error) {
	err = lend(ctx, q.conn, func(conn *sql.Conn) error {
		r, err = await(ctx, func() (result, error) {
			defer conn.Close()
			return sqlQuerier{conn}.exec(ctx, statement, args...)
		}, func(result) {})
		return err
	})
	return r, err
}

func (q boundedPool) conn(ctx context.Context) (*sql.Conn, error) {
	return await(ctx, func() (*sql.Conn, error) { return q.db.Conn(ctx) }, func(c *sql.Conn) { _ = c.Close() })
}

// await returns what work returns, or ctx's error if that ends first: then what work returns is given to late, unless
// it has failed.
func await[T any](ctx context.Context, work func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done, left := make(chan outcome), make(chan struct{})
	go func() {
		v, err := work()
		select {
		case done <- outcome{v, err}:
		case <-left:
			if err == nil {
				late(v)
			}
		}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		close(left)
		var none T
		return none, ctx.Err()
	}
}
