// Package sqlhandle looks at how a handle of database/sql opens its connections.
package sqlhandle

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/bounded"
)

// Connector returns what db opens its connections with, or nil if this release of Go keeps it elsewhere. database/sql
// has no accessor for it, and a driver's name without the DSN opens nothing. The field is set once, when the handle is
// made, and a connector may be used by many goroutines.
func Connector(db *sql.DB) driver.Connector {
	field := reflect.ValueOf(db).Elem().FieldByName("connector")
	if !field.IsValid() || field.Type() != reflect.TypeFor[driver.Connector]() {
		return nil
	}
	connector, _ := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(driver.Connector)
	return connector
}

// OpenOne returns a handle that opens at most one connection, as db opens its own, each within limit and half of the caller's time. The caller
// closes it. It returns nil where [Connector] does.
func OpenOne(db *sql.DB, limit time.Duration) *sql.DB {
	connector := Connector(db)
	if connector == nil {
		return nil
	}
	one := sql.OpenDB(limited{connector, limit, 2})
	one.SetMaxOpenConns(1)
	return one
}

// Limit returns a connector whose connects end within limit. It never closes c.
func Limit(c driver.Connector, limit time.Duration) driver.Connector { return limited{c, limit, 1} }

// limited is a connector whose connects end in time, also where the driver does not heed a context. It has no Close:
// the connector belongs to another handle.
type limited struct {
	driver.Connector

	limit time.Duration
	share time.Duration // 1 / share of a caller's time
}

func (l limited) Connect(ctx context.Context) (driver.Conn, error) {
	limit := l.limit
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/l.share)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return bounded.Do(ctx, func() (driver.Conn, error) { return l.Connector.Connect(ctx) }, func(c driver.Conn) { _ = c.Close() })
}

// PgxPool returns the pool of pgx's whose connections db lends, as stdlib.OpenDBFromPool makes it, or nil.
func PgxPool(db *sql.DB) *pgxpool.Pool {
	connector := Connector(db)
	if connector == nil || !bounded.IsPgx(db) {
		return nil
	}
	v := reflect.ValueOf(connector)
	if v.Kind() != reflect.Struct {
		return nil
	}
	copied := reflect.New(v.Type()).Elem() // whose fields have an address
	copied.Set(v)
	field := copied.FieldByName("pool")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*pgxpool.Pool]() {
		return nil
	}
	pool, _ := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(*pgxpool.Pool)
	return pool
}
