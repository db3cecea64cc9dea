// Package mysql keeps locks as lease rows in MySQL and MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlserver"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Backend is the dialect of MySQL 8.0 and MariaDB 10.6, and what is newer.
type Backend struct {
	db       *sql.DB
	q        *preparedQuerier
	reserve  *sqlbase.Reserve
	table    sqltable.Table
	waiters  *waiters
	standing atomic.Pointer[standing]
	detected atomic.Pointer[server]
	warnings []string     // of the handle
	givenUp  atomic.Int64 // when a statement that may wait for a row timed out last, in nanoseconds since 1970
}

// server is what differs between the two servers.
type server struct {
	*Backend
	q                sqlbase.Querier
	mariadb          bool
	timeoutUndoesAll bool // the end of a wait for a lock undoes the transaction (innodb_rollback_on_timeout)
	sql              map[string]string
}

func New(db *sql.DB, t sqltable.Table) *Backend {
	m := &Backend{
		db: db, q: newPreparedQuerier(db), table: t, waiters: newWaiters(), warnings: sqlbase.WarningsOf(db),
		reserve: sqlbase.ReserveFor(db, func(one *sql.DB) sqlbase.Querier { return newPreparedQuerier(one) }),
	}
	// A backend has no Close, and a prepared statement lives as long as the pool.
	runtime.AddCleanup(m, (*preparedQuerier).close, m.q)
	return m
}

// Capabilities says what lease rows in MySQL and MariaDB promise.
func (m *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: "sqllock/mysql", Token: driver.LinearizableToken, Pauses: true, Warnings: m.warnings,
	}
}

// server finds out which of the two servers the pool leads to, once. A failure is not remembered.
func (m *Backend) server(ctx context.Context) (*server, error) {
	if s := m.detected.Load(); s != nil {
		return s, nil
	}
	words := m.table.Statements(files, "sql/mysql", "`")
	var version, literals string
	var timeoutUndoesAll bool
	if _, err := sqlbase.QueryOne(ctx, sqlbase.On(m.db), words["server"], nil, &version, &timeoutUndoesAll, &literals); err != nil {
		// Nothing has been asked for yet.
		return nil, driver.NotApplied(fmt.Errorf("ask for the server's version: %w", err))
	}
	mariadb, err := sqlserver.MySQL(version)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	if mariadb && wideCharacters[literals] {
		return nil, driver.Permanent(fmt.Errorf("the session's character_set_connection is %s, in which MariaDB reads no JSON: set collation_connection to one of utf8mb4", literals))
	}
	s := &server{Backend: m, q: m.q, mariadb: mariadb, timeoutUndoesAll: timeoutUndoesAll, sql: words}
	if mariadb {
		maps.Copy(s.sql, m.table.Statements(files, "sql/mariadb", "`"))
	}
	m.detected.Store(s)
	return s, nil
}

// wideCharacters are the character sets of literals in which MariaDB cannot read the paths of JSON_TABLE (error 4042), so that no
// lease could be renewed.
var wideCharacters = map[string]bool{"ucs2": true, "utf16": true, "utf16le": true, "utf32": true}

// through returns s with statements sent by q.
func (s *server) through(q sqlbase.Querier) *server {
	by := *s
	by.q = q
	return &by
}

func (s *server) forRenewals() *server { return s.through(s.reserve.ForRenewals(s.Backend.q, s.usage)) }
func (s *server) forReleases() *server { return s.through(s.reserve.ForReleases(s.Backend.q, s.usage)) }

func (m *Backend) usage() sqlbase.Usage { return sqlbase.UsageOf(m.db) }

// CloseIdle implements [driver.Idler].
func (m *Backend) CloseIdle(ctx context.Context) { m.reserve.CloseIdle(ctx) }

// errRowLocked is the answer of a statement that would have had to wait for a row.
var errRowLocked = errors.New("the row is locked by another transaction")

// patience is how long a release goes on asking for a row that another transaction has locked.
const patience = time.Second

// run calls once, and again for as long as the server answers that it undid the statement.
func (s *server) run(ctx context.Context, once func() error) error {
	return sqlbase.Retry(ctx, transient, once)
}

// one runs a statement that answers with one row at most, and reports whether it did.
func (s *server) one(ctx context.Context, verb string, args []any, dest ...any) (found bool, err error) {
	err = s.run(ctx, func() error {
		found, err = sqlbase.QueryOne(ctx, s.q, s.sql[verb], args, dest...)
		return err
	})
	return found, err
}

// Exec runs a statement that answers no rows.
func (s *server) Exec(ctx context.Context, verb string, args ...any) (r sqlbase.Result, err error) {
	err = s.run(ctx, func() error {
		r, err = s.once(ctx, verb, args...)
		return err
	})
	return r, err
}
