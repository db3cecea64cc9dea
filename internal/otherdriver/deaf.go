package otherdriver

import (
	"context"
	sqldriver "database/sql/driver"
)

type deaf struct{ hidden }

func (d deaf) Open(dsn string) (sqldriver.Conn, error) {
	c, err := d.hidden.Open(dsn)
	if err != nil {
		return nil, err
	}
	return deafConn{c.(hiddenConn)}, nil
}

type deafConn struct{ hiddenConn }

func (c deafConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	return c.of.BeginTx(context.WithoutCancel(ctx), opts)
}

func (c deafConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return c.of.QueryContext(context.WithoutCancel(ctx), query, args)
}

func (c deafConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	return c.of.ExecContext(context.WithoutCancel(ctx), query, args)
}
