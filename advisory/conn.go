package advisory

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// conn is a connection borrowed from the caller's pool. No two methods may run at the same time,
// except that interrupt may be called during wait.
type conn interface {
	// query runs a statement that returns one row. If once is true, query does not prepare the statement. Behind a
	// pooler, the prepared statement could be in another server process than the one that executes it.
	query(ctx context.Context, once bool, statement string, args []any, dest ...any) error
	exec(ctx context.Context, statement string) error
	// loginPID returns the process id of the server process that served the login, or 0 if the driver does not report
	// it.
	loginPID() uint32
	closed() bool
	// memory returns a map that stays with the connection until the connection closes, or nil if the driver keeps no
	// such map.
	memory() map[string]any
	// wait reads from the connection until the connection ends, and returns the error that ended it.
	// After a call of interrupt, wait returns nil.
	wait() error
	interrupt()
	watches() bool // reports whether wait can be used
	giveBack()
	destroy()
}

// source is the caller's connection pool.
type source interface {
	open(ctx context.Context) (conn, error)
	most() int // the largest number of connections in the pool; 0: no limit
}

type pgxSource struct{ pool *pgxpool.Pool }

func (s pgxSource) most() int { return int(s.pool.Config().MaxConns) }

func (s pgxSource) open(ctx context.Context) (conn, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	raw := c.Conn()
	return &pgxConn{
		raw: raw, net: raw.PgConn().Conn(), watchable: interruptible(raw.PgConn().Conn()),
		with:    func(f func(*pgx.Conn) error) error { return f(raw) },
		back:    c.Release,
		discard: func() { closeHard(c.Hijack()) },
	}, nil
}

type sqlSource struct{ db *sql.DB }

func (s sqlSource) most() int { return s.db.Stats().MaxOpenConnections }

func (s sqlSource) open(ctx context.Context) (conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var raw *pgx.Conn
	err = c.Raw(func(dc any) error {
		if std, ok := dc.(interface{ Conn() *pgx.Conn }); ok { // pgx's driver for database/sql
			raw = std.Conn()
		}
		return nil
	})
	if err != nil {
		discard(c)
		return nil, err
	}
	back := func() { _ = c.Close() } // returns the connection to the pool; the error is dropped, because no caller could act on it
	if raw == nil {
		return &sqlConn{conn: c, back: back}, nil
	}
	return &pgxConn{
		raw: raw, net: raw.PgConn().Conn(), watchable: interruptible(raw.PgConn().Conn()),
		with: func(f func(*pgx.Conn) error) error {
			return c.Raw(func(any) error { return f(raw) })
		},
		back: back,
		discard: func() {
			closeHard(raw)
			discard(c)
		},
	}, nil
}

// discard closes the connection c instead of returning it to its pool.
func discard(c *sql.Conn) {
	_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = c.Close() // the error only says that the connection is closed, which is intended
}

// sqlConn is a connection of a driver other than pgx. Such a connection cannot be read between statements.
type sqlConn struct {
	conn  *sql.Conn
	ended bool
	back  func()
}

func (c *sqlConn) query(ctx context.Context, _ bool, statement string, args []any, dest ...any) error {
	err := c.conn.QueryRowContext(ctx, statement, args...).Scan(dest...)
	c.note(err)
	return err
}

func (c *sqlConn) exec(ctx context.Context, statement string) error {
	_, err := c.conn.ExecContext(ctx, statement)
	c.note(err)
	return err
}

// note sets ended if err says that the connection is closed.
func (c *sqlConn) note(err error) {
	c.ended = c.ended || errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

func (c *sqlConn) loginPID() uint32       { return 0 }
func (c *sqlConn) closed() bool           { return c.ended }
func (c *sqlConn) memory() map[string]any { return nil }
func (c *sqlConn) wait() error            { return nil }
func (c *sqlConn) interrupt()             {}
func (c *sqlConn) watches() bool          { return false }
func (c *sqlConn) giveBack()              { c.back() }
func (c *sqlConn) destroy()               { discard(c.conn) }
