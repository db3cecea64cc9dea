package mysqlock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
)

// conn is one connection, on loan from the caller's pool, for one goroutine at a time.
type conn struct {
	*sql.Conn
	id       int64 // the server's number for it
	schema   string
	prepared map[string]*sql.Stmt // nil: asked once
}

func (b *Backend) open(ctx context.Context) (*conn, error) {
	c, err := b.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, prepared: map[string]*sql.Stmt{}}, nil
}

// statement prepares what is asked a second time: the driver prepares each single one otherwise, for
// a round trip more. Whoever asks once pays for no statement that stays.
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

// ready prepares what will be asked when there is no time for it.
func (c *conn) ready(ctx context.Context, text string) error {
	if _, asked := c.prepared[text]; !asked {
		c.prepared[text] = nil
	}
	_, err := c.statement(ctx, text)
	return err
}

// query runs a statement that answers with one row.
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

// rows runs a statement, and hands each row to scan.
func (c *conn) rows(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	s, err := c.statement(ctx, text)
	if err != nil {
		return err
	}
	var rows *sql.Rows
	if s != nil {
		rows, err = s.QueryContext(ctx, args...)
	} else {
		rows, err = c.QueryContext(ctx, text, args...)
	}
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

// exec runs a statement that answers no rows.
func (c *conn) exec(ctx context.Context, text string, args []any) (sql.Result, error) {
	s, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.ExecContext(ctx, args...)
	}
	return c.ExecContext(ctx, text, args...)
}

// alive looks at the connection without asking the server: go-sql-driver reads from the socket, without
// waiting, before it uses a connection that was idle, and lends that. An end that the server has told
// of is seen so. Other drivers, and go-sql-driver on Windows, know nothing, and say so by nil.
func (c *conn) alive(ctx context.Context) error {
	return c.Raw(func(dc any) error {
		if r, ok := dc.(sqldriver.SessionResetter); ok {
			return r.ResetSession(ctx)
		}
		return nil
	})
}

// giveBack returns the connection to its pool. It holds no lock.
func (c *conn) giveBack() {
	for _, s := range c.prepared {
		if s != nil {
			_ = s.Close() // sends no question, and a broken connection tells the pool itself
		}
	}
	_ = c.Close()
}

// destroy closes the connection itself instead of giving it back to its pool, which would keep it
// together with its locks.
func (c *conn) destroy() {
	_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = c.Close() // says that it is closed
}
