package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Backend keeps locks as lease rows in a SQL database. It is safe for concurrent use and owns
// nothing: the pool stays the caller's to close.
type Backend struct {
	dialect
	table   sqltable.Table
	sealsAt driver.Place
	err     error // why it cannot work
}

// dialect is one family of databases: the mechanics differ, not only the words.
type dialect interface {
	driver.Backend
	driver.Operator
	driver.HandOverer
	// lockInTx takes the row lock of key in the caller's transaction, or answers *driver.Held
	// at once. It never waits for another transaction and never leaves tx unusable.
	lockInTx(ctx context.Context, tx querier, key driver.Key) error
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
	_ driver.Notifier = (*Backend)(nil)
)

// Postgres keeps locks in a PostgreSQL database reached through database/sql, with any driver
// that speaks $1 parameters (pgx's stdlib, lib/pq). Where the driver is pgx's, and not wrapped, the
// connections are the pool's and the statements pgx's own, which is nearly as fast as [Pgx].
// A call ends with its ctx also where the driver does not heed one, as lib/pq does while it opens a
// connection or hears nothing from the server; the pool gets the connection back when that has ended.
//
// Of a handle that stdlib.OpenDBFromPool has made the pool is used, as [Pgx] does.
func Postgres(db *sql.DB, opts ...Option) *Backend {
	if db != nil {
		if pool := sqlhandle.PgxPool(db); pool != nil {
			return Pgx(pool, opts...).sealing(db)
		}
	}
	return build(db == nil, opts, func(t sqltable.Table) dialect {
		return newPostgres(postgresHandle{
			q: postgresQuerier(db), usage: func() usage { return usageOfSQL(db) }, reserve: reserveSQL(db, postgresQuerier),
			open: openSQL(db), hears: bounded.IsPgx(db), warnings: warningsOf(db),
		}, t)
	}).sealing(db)
}

// Pgx keeps locks in a PostgreSQL database reached through a pgx pool: the fastest way to it.
func Pgx(pool *pgxpool.Pool, opts ...Option) *Backend {
	return build(pool == nil, opts, func(t sqltable.Table) dialect {
		return newPostgres(postgresHandle{
			q: pgxPool{pool: pool}, usage: func() usage { return usageOfPgx(pool) }, reserve: reservePgx(pool),
			open: openPgx(pool), hears: true,
		}, t)
	}).sealing(pool)
}

// MySQL keeps locks in a MySQL (8.0 or newer) or MariaDB (10.6 or newer) database reached through
// go-sql-driver/mysql. Which of the two it is is asked once, at the first call.
func MySQL(db *sql.DB, opts ...Option) *Backend {
	return build(db == nil, opts, func(t sqltable.Table) dialect { return newMySQL(db, t) })
}

// SQLite keeps locks in a SQLite (3.35 or newer) database file on a local disk, reached through
// any driver for database/sql. The locks reach as far as the file does: the processes of one
// machine.
func SQLite(db *sql.DB, opts ...Option) *Backend {
	return build(db == nil, opts, func(t sqltable.Table) dialect { return newSQLite(db, t) }).sealing(db)
}

func build(missing bool, opts []Option, open func(sqltable.Table) dialect) *Backend {
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := sqltable.Parse(o.table)
	if missing {
		err = errors.New("the database handle is nil")
	}
	if err != nil {
		return &Backend{dialect: invalid{err}, err: err}
	}
	return &Backend{dialect: open(table), table: table}
}

// invalid answers every call of a backend whose options cannot work with the reason.
type invalid struct{ err error }

func (i invalid) fail() error { return driver.Permanent(i.err) }

func (i invalid) Acquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, i.fail()
}

func (i invalid) Renew(context.Context, []driver.Grant) ([]driver.Outcome, error) {
	return nil, i.fail()
}
func (i invalid) Release(context.Context, driver.Grant) error { return i.fail() }
func (i invalid) Capabilities() driver.Capabilities           { return driver.Capabilities{Invalid: i.err} }
func (i invalid) List(context.Context, string, bool) ([]driver.Status, error) {
	return nil, i.fail()
}

func (i invalid) Inspect(context.Context, driver.Key) (driver.Status, error) {
	return driver.Status{}, i.fail()
}

func (i invalid) ForceRelease(context.Context, driver.Key, driver.Token, bool) error {
	return i.fail()
}
func (i invalid) Prune(context.Context, time.Duration) (int, error)   { return 0, i.fail() }
func (i invalid) lockInTx(context.Context, querier, driver.Key) error { return i.fail() }
