package sqllock

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// mysql is the dialect of MySQL 8.0 and MariaDB 10.6, and what is newer.
type mysql struct {
	db       *sql.DB
	q        *preparedQuerier
	table    sqltable.Table
	waiters  *mysqlWaiters
	standing atomic.Pointer[standing]
	detected atomic.Pointer[mysqlServer]
}

// mysqlServer is what differs between the two servers.
type mysqlServer struct {
	*mysql
	mariadb          bool
	timeoutUndoesAll bool // the end of a wait for a lock undoes the transaction (innodb_rollback_on_timeout)
	sql              statements
}

func newMySQL(db *sql.DB, t sqltable.Table) *mysql {
	m := &mysql{db: db, q: newPreparedQuerier(db), table: t, waiters: newWaiters()}
	// A backend has no Close, and a prepared statement lives as long as the pool.
	runtime.AddCleanup(m, (*preparedQuerier).close, m.q)
	return m
}

// Capabilities says what lease rows in MySQL and MariaDB promise.
func (m *mysql) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "sqllock/mysql", Token: driver.LinearizableToken, Inspects: true, Pauses: true}
}

// server finds out which of the two servers the pool leads to, once. A failure is not remembered.
func (m *mysql) server(ctx context.Context) (*mysqlServer, error) {
	if s := m.detected.Load(); s != nil {
		return s, nil
	}
	words := load(m.table, "mysql", "`")
	var version string
	var timeoutUndoesAll bool
	if _, err := queryOne(ctx, sqlQuerier{m.db}, words["server"], nil, &version, &timeoutUndoesAll); err != nil {
		// Nothing has been asked for yet.
		return nil, driver.NotApplied(fmt.Errorf("ask for the server's version: %w", err))
	}
	mariadb, err := checkMySQLVersion(version)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	s := &mysqlServer{mysql: m, mariadb: mariadb, timeoutUndoesAll: timeoutUndoesAll, sql: words}
	if mariadb {
		maps.Copy(s.sql, load(m.table, "mariadb", "`"))
	}
	m.detected.Store(s)
	return s, nil
}

// checkMySQLVersion reads what VERSION() answers. SKIP LOCKED and JSON_TABLE set the limits. TiDB
// takes SKIP LOCKED and ignores it, so that two transactions get one row.
func checkMySQLVersion(version string) (mariadb bool, err error) {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return false, fmt.Errorf("server version %q is not understood: %w", version, err)
	}
	mariadb = strings.Contains(version, "MariaDB")
	switch {
	case strings.Contains(version, "TiDB"):
		return false, fmt.Errorf("server version %q: TiDB is not supported, because it ignores SKIP LOCKED", version)
	case mariadb && (major < 10 || major == 10 && minor < 6):
		return true, fmt.Errorf("server version %q is too old: want MariaDB 10.6 or newer", version)
	case !mariadb && major < 8:
		return false, fmt.Errorf("server version %q is too old: want MySQL 8.0 or newer", version)
	}
	return mariadb, nil
}

// hexed is s as the statements take names and texts: hexadecimal digits mean the same in every
// character set that a connection may have.
func hexed(s string) string { return hex.EncodeToString([]byte(s)) }

// hexedText is hexed for texts for people, which the server keeps as utf8mb4.
func hexedText(s string) string { return hexed(strings.ToValidUTF8(s, "\uFFFD")) }

// errRowLocked is the answer of a statement that would have had to wait for a row.
var errRowLocked = errors.New("the row is locked by another transaction")

// patience is how long a release goes on asking for a row that another transaction has locked.
const patience = time.Second

// run calls once, and again for as long as the server answers that it undid the statement.
func (s *mysqlServer) run(ctx context.Context, once func() error) error {
	return retry(ctx, mysqlTransient, once)
}

// one runs a statement that answers with one row at most, and reports whether it did.
func (s *mysqlServer) one(ctx context.Context, verb string, args []any, dest ...any) (found bool, err error) {
	err = s.run(ctx, func() error {
		found, err = queryOne(ctx, s.q, s.sql[verb], args, dest...)
		return err
	})
	return found, err
}

// exec runs a statement that answers no rows.
func (s *mysqlServer) exec(ctx context.Context, verb string, args ...any) (r result, err error) {
	err = s.run(ctx, func() error {
		r, err = s.q.exec(ctx, s.sql[verb], args...)
		return err
	})
	return r, err
}
