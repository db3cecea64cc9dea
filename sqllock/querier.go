package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/bounded"
)

// querier runs one statement: the slice of database/sql and of pgx that lease rows need. An error
// marked [driver.NotApplied] means that the statement was never sent.
type querier interface {
	// query has the rows read by read, and whatever it leaves of them is skipped.
	query(ctx context.Context, statement string, args []any, read func(rows) error) error
	exec(ctx context.Context, statement string, args ...any) (result, error)
}

type rows = bounded.Rows

// result is what was changed, and on MySQL the value of LAST_INSERT_ID.
type result struct {
	affected, lastID int64
}

// queryOne runs a statement that answers with one row at most, and reports whether it did.
func queryOne(ctx context.Context, q querier, statement string, args []any, dest ...any) (found bool, err error) {
	err = q.query(ctx, statement, args, func(r rows) error {
		if found = r.Next(); found {
			return r.Scan(dest...)
		}
		return nil
	})
	return found, err
}

// finish reads the rows to their end: a statement that returns what it wrote is committed when its last row has been read.
func finish(r rows, read func(rows) error) error {
	if err := read(r); err != nil {
		return err
	}
	for r.Next() { //nolint:revive // drained on purpose
	}
	return r.Err()
}

// sqlConn is a *sql.DB, *sql.Conn or *sql.Tx.
type sqlConn interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var (
	_ sqlConn = (*sql.DB)(nil)
	_ sqlConn = (*sql.Conn)(nil)
	_ sqlConn = (*sql.Tx)(nil)
)

type sqlQuerier struct{ conn sqlConn }

// checkout takes a connection of its own from a pool, so that waiting for one in vain is not taken
// for a statement of unknown outcome. It may be given back more than once. A *sql.Conn or *sql.Tx is used as it is.
func (q sqlQuerier) checkout(ctx context.Context) (conn sqlConn, giveBack func(), err error) {
	db, pooled := q.conn.(*sql.DB)
	if !pooled {
		return q.conn, func() {}, nil
	}
	own, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, driver.NotApplied(usageOfSQL(db).unlent(ctx, err))
	}
	return own, func() { _ = own.Close() }, nil // back to the pool, which reports nothing of use
}

func (q sqlQuerier) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	conn, giveBack, err := q.checkout(ctx)
	if err != nil {
		return err
	}
	defer giveBack()
	r, err := conn.QueryContext(ctx, statement, args...)
	if errors.Is(err, sqldriver.ErrBadConn) && conn != q.conn {
		giveBack()
		r, err = q.conn.QueryContext(ctx, statement, args...)
	}
	if err != nil {
		return unsent(err)
	}
	defer r.Close()
	return finish(r, read)
}

func (q sqlQuerier) exec(ctx context.Context, statement string, args ...any) (result, error) {
	conn, giveBack, err := q.checkout(ctx)
	if err != nil {
		return result{}, err
	}
	defer giveBack()
	r, err := conn.ExecContext(ctx, statement, args...)
	if errors.Is(err, sqldriver.ErrBadConn) && conn != q.conn {
		r, err = q.conn.ExecContext(ctx, statement, args...)
	}
	if err != nil {
		return result{}, unsent(err)
	}
	affected, err := r.RowsAffected()
	if err != nil {
		return result{}, err
	}
	lastID, err := r.LastInsertId()
	if err != nil {
		lastID = 0 // Postgres drivers have none
	}
	return result{affected: affected, lastID: lastID}, nil
}

// unsent marks the errors by which a driver says that it has sent nothing.
func unsent(err error) error {
	if errors.Is(err, sqldriver.ErrBadConn) || pgconn.SafeToRetry(err) {
		return driver.NotApplied(err)
	}
	return err
}
