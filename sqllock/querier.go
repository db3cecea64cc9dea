package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/driver"
)

// querier runs one statement: the slice of database/sql and of pgx that lease rows need. An error
// marked [driver.NotApplied] means that the statement was never sent.
type querier interface {
	query(ctx context.Context, statement string, args ...any) (rows, error)
	exec(ctx context.Context, statement string, args ...any) (result, error)
}

// rows is what *sql.Rows and pgx.Rows have in common.
type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// result is what was changed, and on MySQL the value of LAST_INSERT_ID.
type result struct {
	affected, lastID int64
}

// queryOne runs a statement that answers with one row at most, and reports whether it did.
func queryOne(ctx context.Context, q querier, statement string, args []any, dest ...any) (bool, error) {
	r, err := q.query(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	defer r.Close()
	found := r.Next()
	if found {
		if err := r.Scan(dest...); err != nil {
			return false, err
		}
	}
	// A statement that returns what it wrote is committed when its last row has been read.
	for r.Next() { //nolint:revive // drained on purpose
	}
	return found, r.Err()
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
// for a statement of unknown outcome. A *sql.Conn or *sql.Tx is used as it is.
func (q sqlQuerier) checkout(ctx context.Context) (sqlConn, func(), error) {
	db, pooled := q.conn.(*sql.DB)
	if !pooled {
		return q.conn, func() {}, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, driver.NotApplied(err)
	}
	return conn, func() { _ = conn.Close() }, nil // back to the pool, which reports nothing of use
}

func (q sqlQuerier) query(ctx context.Context, statement string, args ...any) (rows, error) {
	conn, giveBack, err := q.checkout(ctx)
	if err != nil {
		return nil, err
	}
	r, err := conn.QueryContext(ctx, statement, args...) //nolint:rowserrcheck,sqlclosecheck // the caller does
	if errors.Is(err, sqldriver.ErrBadConn) {
		giveBack()
		giveBack = func() {}
		r, err = q.conn.QueryContext(ctx, statement, args...) //nolint:rowserrcheck,sqlclosecheck // the caller does
	}
	if err != nil {
		giveBack()
		return nil, unsent(err)
	}
	return &sqlRows{Rows: r, giveBack: giveBack}, nil
}

func (q sqlQuerier) exec(ctx context.Context, statement string, args ...any) (result, error) {
	conn, giveBack, err := q.checkout(ctx)
	if err != nil {
		return result{}, err
	}
	defer giveBack()
	r, err := conn.ExecContext(ctx, statement, args...)
	if errors.Is(err, sqldriver.ErrBadConn) {
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

// sqlRows gives the connection back with the rows.
type sqlRows struct {
	*sql.Rows

	giveBack func()
}

// Close drops the error: every caller reads Err, which holds what went wrong.
func (r *sqlRows) Close() {
	_ = r.Rows.Close()
	r.giveBack()
}

// unsent marks the errors by which a driver says that it has sent nothing.
func unsent(err error) error {
	if errors.Is(err, sqldriver.ErrBadConn) || pgconn.SafeToRetry(err) {
		return driver.NotApplied(err)
	}
	return err
}
