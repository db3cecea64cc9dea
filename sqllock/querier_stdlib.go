package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/bounded"
)

// stdlibPool is a querier on a pool of database/sql whose driver is pgx's. It has the pool lend the connection for each
// statement and talks pgx to it: that is faster, because database/sql starts a goroutine for each answer and converts
// each value twice.
type stdlibPool struct{ db *sql.DB }

func postgresQuerier(db *sql.DB) querier {
	if bounded.IsPgx(db) {
		return stdlibPool{db}
	}
	return boundedPool{db}
}

func (q stdlibPool) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	return q.lend(ctx, func(on querier) error { return on.query(ctx, statement, args, read) })
}

func (q stdlibPool) exec(ctx context.Context, statement string, args ...any) (r result, err error) {
	err = q.lend(ctx, func(on querier) (err error) {
		r, err = on.exec(ctx, statement, args...)
		return err
	})
	return r, err
}

func (q stdlibPool) lend(ctx context.Context, work func(querier) error) error {
	return lend(ctx, q.db, q.db.Conn, func(conn *sql.Conn) (err error) {
		defer conn.Close()
		other := conn.Raw(func(dc any) error {
			of, ok := dc.(interface{ Conn() *pgx.Conn })
			if !ok { // of an older pgx
				return errDeaf
			}
			raw := of.Conn()
			err = work(pgxQuerier{raw})
			if raw.IsClosed() {
				return sqldriver.ErrBadConn // the pool throws it away
			}
			return nil
		})
		if errors.Is(other, errDeaf) {
			return work(sqlQuerier{conn})
		}
		return err
	})
}

// lend has work done on a connection of db, and again on another if the first turns out to have ended before anything was sent:
// the pool knows of no such end until then. Work gives the connection back.
func lend(ctx context.Context, db *sql.DB, take func(context.Context) (*sql.Conn, error), work func(*sql.Conn) error) error {
	for again := true; ; again = false {
		conn, err := take(ctx)
		if err != nil {
			return driver.NotApplied(usageOfSQL(db).unlent(ctx, err))
		}
		if err = work(conn); !again || !driver.IsNotApplied(err) || ctx.Err() != nil {
			return err
		}
	}
}
