package advisory_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"

	"github.com/jackc/pgx/v5/stdlib"
)

// otherDriver speaks to Postgres as a driver does that has no socket to lend and keeps the process of
// its login to itself: it is pgx's own, with all that hidden.
const otherDriver = "pgx-hidden"

func init() { sql.Register(otherDriver, hidden{}) }

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
