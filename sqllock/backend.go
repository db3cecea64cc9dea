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
	sqlbase.TxLocker
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
	return build(db == nil, opts, func(t sqltable.Table) dialect { return postgres.OverSQL(db, t) }).sealing(db)
}

// Pgx keeps locks in a PostgreSQL database reached through a pgx pool: the fastest way to it.
func Pgx(pool *pgxpool.Pool, opts ...Option) *Backend {
	return build(pool == nil, opts, func(t sqltable.Table) dialect { return postgres.OverPgx(pool, t) }).sealing(pool)
}

// MySQL keeps locks in a MySQL (8.0 or newer) or MariaDB (10.6 or newer) database reached through
// go-sql-driver/mysql. Which of the two it is is asked once, at the first call.
func MySQL(db *sql.DB, opts ...Option) *Backend {
	return build(db == nil, opts, func(t sqltable.Table) dialect { return mysql.New(db, t) })
}

// SQLite keeps locks in a SQLite (3.35 or newer) database file on a local disk, reached through
// any driver for database/sql. The locks reach as far as the file does: the processes of one
// machine.
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

// CloseIdle implements [driver.Idler]: a connection that listened for releases is closed, if nobody waits any more.
func (b *Backend) CloseIdle(ctx context.Context) {
	if i, ok := b.dialect.(driver.Idler); ok {
		i.CloseIdle(ctx)
	}
}

// Notify implements [driver.Notifier] where the dialect does. On MySQL and MariaDB it wakes nobody: it has a
// waiter served in its turn.
func (b *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	if n, ok := b.dialect.(driver.Notifier); ok {
		return n.Notify(ctx, key, wake)
	}
	return nil, errors.ErrUnsupported
}

// Capabilities implements [driver.Backend]. SealsAt is the database and table by which a guard of package fence is recognised
// as one whose marks a grant can raise in its own step: made with the same handle and the same [Table]. It is the zero
// Place on MySQL and MariaDB, where no statement changes both rows without the server's own wait for
// locks, during which the lock's row would be closed to everybody.
func (b *Backend) Capabilities() driver.Capabilities {
	c := b.dialect.Capabilities()
	c.SealsAt = b.sealsAt
	return c
}

// sealing makes b honour driver.Request.Seal for guards of the same handle.
func (b *Backend) sealing(db any) *Backend {
	if b.err == nil {
		b.sealsAt = driver.Place{DB: db, Table: b.table.String()}
	}
	return b
}
