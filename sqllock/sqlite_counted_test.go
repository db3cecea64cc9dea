package sqllock_test

import (
	"context"
	sqldriver "database/sql/driver"
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
)

// counted wraps the driver of SQLite. It counts the prepared statements that are open, and how often a connection was
// set to commit without a flush.
type counted struct {
	sqlite  sqlite.Driver
	dsn     string
	open    atomic.Int64
	relaxed atomic.Int64
}

func (d *counted) Driver() sqldriver.Driver { return &d.sqlite }

func (d *counted) Connect(context.Context) (sqldriver.Conn, error) {
	conn, err := d.sqlite.Open(d.dsn)
	if err != nil {
		return nil, err
	}
	return &countedConn{conn.(sqliteConn), d}, nil
}

// sqliteConn lists the methods of a driver's connection that database/sql uses in these tests.
type sqliteConn interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.QueryerContext
	sqldriver.SessionResetter
	sqldriver.Validator
}

type countedConn struct {
	sqliteConn

	driver *counted
}

func (c *countedConn) PrepareContext(ctx context.Context, query string) (sqldriver.Stmt, error) {
	stmt, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.driver.open.Add(1)
	return &countedStmt{stmt.(sqliteStmt), c.driver}, nil
}

func (c *countedConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if strings.Contains(query, "synchronous = NORMAL") {
		c.driver.relaxed.Add(1)
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

type sqliteStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

type countedStmt struct {
	sqliteStmt

	driver *counted
}

func (s *countedStmt) Close() error {
	s.driver.open.Add(-1)
	return s.sqliteStmt.Close()
}
