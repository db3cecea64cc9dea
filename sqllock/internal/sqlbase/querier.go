package sqlbase

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/bounded"
)

// Querier runs one statement through database/sql or pgx. An error marked [driver.NotApplied] means that the
// statement was not sent.
type Querier interface {
	// Query passes the result to the function read. Rows that this function does not fetch are fetched and discarded.
	Query(ctx context.Context, statement string, args []any, read func(Rows) error) error
	Exec(ctx context.Context, statement string, args ...any) (Result, error)
}

// Lender is a querier that takes a connection for each statement. Lend takes one connection for the function work.
type Lender interface {
	Lend(ctx context.Context, work func(Querier) error) error
}

// Rows are the result of a statement.
type Rows = bounded.Rows

// Result contains the number of changed rows, and on MySQL also the value of LAST_INSERT_ID.
type Result struct {
	Affected, LastID int64
}

// QueryOne runs a statement that returns at most one row, and reports whether it returned one.
func QueryOne(ctx context.Context, q Querier, statement string, args []any, dest ...any) (found bool, err error) {
	err = q.Query(ctx, statement, args, func(r Rows) error {
		if found = r.Next(); found {
			return r.Scan(dest...)
		}
		return nil
	})
	return found, err
}

// Finish calls the function read and then fetches all remaining rows. A statement with RETURNING is committed only when
// its last row has been fetched.
func Finish(r Rows, read func(Rows) error) error {
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

// On returns a querier that uses a pool, a connection or a transaction of database/sql.
func On(conn sqlConn) Querier { return sqlQuerier{conn} }

type sqlQuerier struct{ conn sqlConn }

// checkout borrows a connection if q uses a pool. A *sql.Conn or *sql.Tx is returned unchanged. If no connection
// becomes available, the error is marked [driver.NotApplied]. giveBack may be called more than once.
func (q sqlQuerier) checkout(ctx context.Context) (conn sqlConn, giveBack func(), err error) {
	db, pooled := q.conn.(*sql.DB)
	if !pooled {
		return q.conn, func() {}, nil
	}
	own, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, driver.NotApplied(UsageOf(db).Unlent(ctx, err))
	}
	return own, func() { _ = own.Close() }, nil // returns the connection to the pool; an error of Close has no consequence
}

func (q sqlQuerier) Query(ctx context.Context, statement string, args []any, read func(Rows) error) error {
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
		return Unsent(err)
	}
	defer r.Close()
	return Finish(r, read)
}

func (q sqlQuerier) Exec(ctx context.Context, statement string, args ...any) (Result, error) {
	conn, giveBack, err := q.checkout(ctx)
	if err != nil {
		return Result{}, err
	}
	defer giveBack()
	r, err := conn.ExecContext(ctx, statement, args...)
	if errors.Is(err, sqldriver.ErrBadConn) && conn != q.conn {
		r, err = q.conn.ExecContext(ctx, statement, args...)
	}
	if err != nil {
		return Result{}, Unsent(err)
	}
	affected, err := r.RowsAffected()
	if err != nil {
		return Result{}, err
	}
	lastID, err := r.LastInsertId()
	if err != nil {
		lastID = 0 // Postgres drivers have no LastInsertId
	}
	return Result{Affected: affected, LastID: lastID}, nil
}

// Unsent marks err with [driver.NotApplied] if err says that the driver has sent nothing.
func Unsent(err error) error {
	if errors.Is(err, sqldriver.ErrBadConn) || pgconn.SafeToRetry(err) {
		return driver.NotApplied(err)
	}
	return err
}

// Flag returns b as a parameter of a statement. Drivers differ in how they send a boolean.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ClosedFor returns the time, in microseconds, for which a grant of r keeps the lock unavailable to others if the
// holder never renews or releases it.
func ClosedFor(r driver.Request) int64 {
	return max(r.TTL+r.HandoverDelay, r.MinHold).Microseconds()
}

// Discard closes a connection instead of returning it to the pool, because its session state may have changed.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
}
