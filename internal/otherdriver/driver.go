// Package otherdriver is a PostgreSQL driver for tests that behaves like lib/pq. The driver wraps pgx's driver, and
// hides these features of it: access to the pgx connection and to the socket, and the id of the server process that the
// server sends at login. The driver also opens connections without a context.
package otherdriver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"

	"github.com/jackc/pgx/v5/stdlib"
)

// These are the names of the drivers in database/sql. The driver Deaf also ignores the context of a statement.
// It waits for the reply until the connection ends, as lib/pq does.
const (
	Name = "pgx-hidden"
	Deaf = "pgx-deaf"
)

func init() {
	sql.Register(Name, hidden{})
	sql.Register(Deaf, deaf{})
}

type hidden struct{}

func (hidden) Open(dsn string) (sqldriver.Conn, error) {
	c, err := stdlib.GetDefaultDriver().Open(dsn)
	if err != nil {
		return nil, err
	}
	return hiddenConn{c.(*stdlib.Conn)}, nil
}

type hiddenConn struct{ of *stdlib.Conn }

func (c hiddenConn) Prepare(query string) (sqldriver.Stmt, error) { return c.of.Prepare(query) }
func (c hiddenConn) Close() error                                 { return c.of.Close() }
func (c hiddenConn) Begin() (sqldriver.Tx, error)                 { return c.of.Begin() } //nolint:staticcheck // of the interface

func (c hiddenConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return c.of.QueryContext(ctx, query, args)
}

func (c hiddenConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return c.of.ExecContext(ctx, query, args)
}

func (c hiddenConn) ResetSession(ctx context.Context) error { return c.of.ResetSession(ctx) }
