package postgres

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// stdlibPool is a querier that uses a database/sql pool whose driver is pgx. It borrows a connection for each
// statement and calls pgx directly. This is faster, because database/sql starts a goroutine for each result and
// converts each value twice.
type stdlibPool struct{ db *sql.DB }

func querierOn(db *sql.DB) sqlbase.Querier {
	if bounded.IsPgx(db) {
		return stdlibPool{db}
	}
	return boundedPool{db}
}

func (q stdlibPool) Query(ctx context.Context, statement string, args []any, read func(sqlbase.Rows) error) error {
	return q.Lend(ctx, func(on sqlbase.Querier) error { return on.Query(ctx, statement, args, read) })
}

func (q stdlibPool) Exec(ctx context.Context, statement string, args ...any) (r sqlbase.Result, err error) {
	err = q.Lend(ctx, func(on sqlbase.Querier) (err error) {
		r, err = on.Exec(ctx, statement, args...)
		return err
	})
	return r, err
}

// Lend implements [sqlbase.Lender].
func (q stdlibPool) Lend(ctx context.Context, work func(sqlbase.Querier) error) error {
	return lend(ctx, q.db, q.db.Conn, func(conn *sql.Conn) (err error) {
		defer conn.Close()
		other := conn.Raw(func(dc any) error {
			of, ok := dc.(interface{ Conn() *pgx.Conn })
			if !ok { // an older version of pgx, which does not give access to its connection
				return errDeaf
			}
			raw := of.Conn()
			err = work(On(raw))
			if raw.IsClosed() {
				return sqldriver.ErrBadConn // makes the pool discard the connection
			}
			return nil
		})
		if errors.Is(other, errDeaf) {
			return work(sqlbase.On(conn))
		}
		return err
	})
}

// lend takes a connection of db, and passes it to the function work. That function must return the connection to the
// pool. If the connection turns out to be broken before anything was sent, lend calls work once more with another
// connection. The pool itself does not detect broken connections in advance.
func lend(ctx context.Context, db *sql.DB, take func(context.Context) (*sql.Conn, error), work func(*sql.Conn) error) error {
	for again := true; ; again = false {
		conn, err := take(ctx)
		if err != nil {
			return driver.NotApplied(sqlbase.UsageOf(db).Unlent(ctx, err))
		}
		if err = work(conn); !again || !driver.IsNotApplied(err) || ctx.Err() != nil {
			return err
		}
	}
}
