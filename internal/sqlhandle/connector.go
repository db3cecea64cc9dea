// Package sqlhandle reads, from a handle of database/sql, how the handle opens connections.
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

// Connector returns the connector that db uses to open connections. It reads a private field of db, because
// database/sql has no accessor. It returns nil if this release of Go stores the connector in another field. Reading
// the field is safe: it is set only when the handle is created, and many goroutines may use a connector.
func Connector(db *sql.DB) driver.Connector {
	field := reflect.ValueOf(db).Elem().FieldByName("connector")
	if !field.IsValid() || field.Type() != reflect.TypeFor[driver.Connector]() {
		return nil
	}
	connector, _ := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(driver.Connector)
	return connector
}

// OpenOne returns a handle that opens at most one connection, with db's connector. Opening a connection takes at most
// limit, and at most half of the time until the caller's deadline. The caller closes the handle. OpenOne returns nil
// if [Connector] returns nil.
func OpenOne(db *sql.DB, limit time.Duration) *sql.DB {
	connector := Connector(db)
	if connector == nil {
		return nil
	}
	one := sql.OpenDB(limited{connector, limit, 2})
	one.SetMaxOpenConns(1)
	return one
}

// Limit returns a connector that opens connections with c, and fails if that takes longer than limit. It never closes
// c.
func Limit(c driver.Connector, limit time.Duration) driver.Connector { return limited{c, limit, 1} }

// limited is a connector that limits how long opening a connection takes. The limit holds even if the driver ignores
// contexts. limited has no Close method, because the inner connector belongs to another handle.
type limited struct {
	driver.Connector

	limit time.Duration
	share time.Duration // opening a connection may take 1/share of the time until the caller's deadline
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

// PgxPool returns the pgx pool of a handle that was opened with stdlib.OpenDBFromPool. It returns nil for any other
// handle.
func PgxPool(db *sql.DB) *pgxpool.Pool {
	connector := Connector(db)
	if connector == nil || !bounded.IsPgx(db) {
		return nil
	}
	v := reflect.ValueOf(connector)
	if v.Kind() != reflect.Struct {
		return nil
	}
	copied := reflect.New(v.Type()).Elem() // unlike v, the copy has addressable fields
	copied.Set(v)
	field := copied.FieldByName("pool")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*pgxpool.Pool]() {
		return nil
	}
	pool, _ := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(*pgxpool.Pool)
	return pool
}
