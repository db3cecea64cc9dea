package mysqlock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
)

// conn is a connection borrowed from the caller's pool. One goroutine uses it at a time.
type conn struct {
	*sql.Conn
	id       int64 // the server's id of the connection
	schema   string
	checks   bool                 // the driver can check the connection without a request, as go-sql-driver does
	prepared map[string]*sql.Stmt // nil: the statement has run once and is not prepared yet
}

func (b *Backend) open(ctx context.Context) (*conn, error) {
	c, err := b.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	checks := false
	_ = c.Raw(func(dc any) error { // fails if the connection has ended, which the first statement reports
		_, checks = dc.(sqldriver.SessionResetter)
		return nil
	})
	return &conn{Conn: c, checks: checks, prepared: map[string]*sql.Stmt{}}, nil
}

// statement returns nil at the first call with a text. At all later calls with the same text, it returns the prepared
// form of the text. Without a prepared form, the driver would prepare the text for each call, which costs another
// round trip. A text that runs only once needs no prepared form.
func (c *conn) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	s, again := c.prepared[text]
	if s != nil || !again {
		if !again {
			c.prepared[text] = nil
		}
		return s, nil
	}
	s, err := c.PrepareContext(ctx, text)
	if err == nil {
		c.prepared[text] = s
	}
	return s, err
}

// ready prepares text now, so that its first use is not delayed by the preparation.
func (c *conn) ready(ctx context.Context, text string) error {
	if _, asked := c.prepared[text]; !asked {
		c.prepared[text] = nil
	}
	_, err := c.statement(ctx, text)
	return err
}

// query runs a statement that returns one row.
func (c *conn) query(ctx context.Context, text string, args []any, dest ...any) error {
	s, err := c.statement(ctx, text)
	switch {
	case err != nil:
		return err
	case s != nil:
		return s.QueryRowContext(ctx, args...).Scan(dest...)
	default:
		return c.QueryRowContext(ctx, text, args...).Scan(dest...)
	}
}

// rows runs a statement, and calls scan for each row.
func (c *conn) rows(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := c.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// alive returns an error if the server has closed the connection. It sends no request.
// It calls the check that go-sql-driver makes before it uses an idle connection: a read from the socket
// that does not block. With other drivers, and with go-sql-driver on Windows, there is no such check,
// and alive returns nil.
func (c *conn) alive(ctx context.Context) error {
	if !c.checks {
		return nil
	}
	return c.Raw(func(dc any) error { return dc.(sqldriver.SessionResetter).ResetSession(ctx) })
}

// giveBack returns the connection to its pool. The connection must hold no lock.
func (c *conn) giveBack() {
	for _, s := range c.prepared {
		if s != nil {
			_ = s.Close() // closing a prepared statement waits for no reply, and the pool notices a broken connection itself
		}
	}
	_ = c.Close()
}

// destroy closes the connection instead of returning it to its pool, which would keep its locks.
func (c *conn) destroy() {
	_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = c.Close() // the error only says that the connection is closed, which is intended
}
