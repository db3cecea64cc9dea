package sqllock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlhandle"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/mysql"
	"github.com/rowlock/rowlock/sqllock/internal/postgres"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
	"github.com/rowlock/rowlock/sqllock/internal/sqlite"
)

// Backend stores locks as lease rows in a SQL database. It is safe for concurrent use. Backend does not close the
// pool: the caller does.
type Backend struct {
	dialect
	table   sqltable.Table
	sealsAt driver.Place
	err     error // why the options are invalid; nil if they are valid
}

// dialect is the implementation for one family of databases.
type dialect interface {
	driver.Backend
	driver.Operator
	driver.HandOverer
	driver.Batcher
	driver.Notifier
	sqlbase.TxLocker
}

var (
	_ driver.Backend    = (*Backend)(nil)
	_ driver.Operator   = (*Backend)(nil)
	_ driver.HandOverer = (*Backend)(nil)
	_ driver.Batcher    = (*Backend)(nil)
	_ driver.Notifier   = (*Backend)(nil)
	_ driver.Idler      = (*Backend)(nil)
)

// Postgres returns a backend for a PostgreSQL database reached through database/sql, with any driver that accepts $1
// parameters (pgx's stdlib, lib/pq). If the driver is pgx, without a wrapper, the backend borrows connections from db
// and calls pgx directly on these connections. This is nearly as fast as [Pgx]. If db was made by
// stdlib.OpenDBFromPool, the backend uses that pool, as [Pgx] does.
//
// A call returns when its ctx ends, even if the driver ignores ctx. lib/pq ignores ctx while it opens a connection or
// waits for a server that does not answer. In that case the connection returns to the pool when the driver's call
// ends.
func Postgres(db *sql.DB, opts ...Option) *Backend {
	if db != nil {
		if pool := sqlhandle.PgxPool(db); pool != nil {
			return Pgx(pool, opts...).sealing(db)
		}
	}
	return build(db == nil, opts, func(t sqltable.Table) dialect { return postgres.OverSQL(db, t) }).sealing(db)
}

// Pgx returns a backend for a PostgreSQL database reached through a pgx pool. It is the fastest backend for Postgres.
func Pgx(pool *pgxpool.Pool, opts ...Option) *Backend {
	return build(pool == nil, opts, func(t sqltable.Table) dialect { return postgres.OverPgx(pool, t) }).sealing(pool)
}

// MySQL returns a backend for a MySQL (8.0 or newer) or MariaDB (10.6 or newer) database reached through
// go-sql-driver/mysql. The server type is detected on first use.
func MySQL(db *sql.DB, opts ...Option) *Backend {
	return build(db == nil, opts, func(t sqltable.Table) dialect { return mysql.New(db, t) })
}

// SQLite returns a backend for a SQLite (3.35 or newer) database file on a local disk, reached through any driver for
// database/sql. The locks exclude the processes of one machine that use this file.
func SQLite(db *sql.DB, opts ...Option) *Backend {
	return build(db == nil, opts, func(t sqltable.Table) dialect { return sqlite.New(db, t) }).sealing(db)
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

// CloseIdle implements [driver.Idler]. It closes the connections that the backend keeps but does not use: the
// connection that listened for releases, if there is no waiter, and the additional connection for renewals and
// releases.
func (b *Backend) CloseIdle(ctx context.Context) {
	if i, ok := b.dialect.(driver.Idler); ok {
		i.CloseIdle(ctx)
	}
}

// Capabilities implements [driver.Backend]. SealsAt identifies the database and table. A guard of package fence with
// the same handle and the same [Table] has an equal SealsAt. For such a guard, a grant can raise the fence mark in the
// same statement. On MySQL and MariaDB, SealsAt is the zero value, and a grant does not raise the mark. There, a grant
// that raises the mark would have to wait for transactions that have checked the mark. During that wait, it would keep
// the lock's row locked.
func (b *Backend) Capabilities() driver.Capabilities {
	c := b.dialect.Capabilities()
	c.SealsAt = b.sealsAt
	return c
}

// sealing sets sealsAt, and returns b. Grants of b then also raise the fence marks of guards that use the handle db and
// the same table.
func (b *Backend) sealing(db any) *Backend {
	if b.err == nil {
		b.sealsAt = driver.Place{DB: db, Table: b.table.String()}
	}
	return b
}
