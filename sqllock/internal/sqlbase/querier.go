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

// Querier runs one statement: the slice of database/sql and of pgx that lease rows need. An error
// marked [driver.NotApplied] means that the statement was never sent.
type Querier interface {
	// Query has the rows read by read, and whatever it leaves of them is skipped.
	Query(ctx context.Context, statement string, args []any, read func(Rows) error) error
	Exec(ctx context.Context, statement string, args ...any) (Result, error)
}

// Rows are what a statement answers.
type Rows = bounded.Rows

// Result is what was changed, and on MySQL the value of LAST_INSERT_ID.
type Result struct {
	Affected, LastID int64
}

// QueryOne runs a statement that answers with one row at most, and reports whether it did.
func QueryOne(ctx context.Context, q Querier, statement string, args []any, dest ...any) (found bool, err error) {
	err = q.Query(ctx, statement, args, func(r Rows) error {
		if found = r.Next(); found {
			return r.Scan(dest...)
		}
		return nil
	})
	return found, err
}

// Finish reads the rows to their end: a statement that returns what it wrote is committed when its last row has been read.
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

// On is a querier on a pool, a connection or a transaction of database/sql.
func On(conn sqlConn) Querier { return sqlQuerier{conn} }

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
		return nil, nil, driver.NotApplied(UsageOf(db).Unlent(ctx, err))
	}
	return own, func() { _ = own.Close() }, nil // back to the pool, which reports nothing of use
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
		lastID = 0 // Postgres drivers have none
	}
	return Result{Affected: affected, LastID: lastID}, nil
}

// Unsent marks the errors by which a driver says that it has sent nothing.
func Unsent(err error) error {
	if errors.Is(err, sqldriver.ErrBadConn) || pgconn.SafeToRetry(err) {
		return driver.NotApplied(err)
	}
	return err
}

// Flag is a boolean as the statements take it: drivers differ in how they send one.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ClosedFor is how long a grant closes a lock for others if nothing is heard of its holder, in
// microseconds.
func ClosedFor(r driver.Request) int64 {
	return max(r.TTL+r.HandoverDelay, r.MinHold).Microseconds()
}

// Discard closes a connection whose session may not be as the pool lent it, instead of giving it back.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
}
