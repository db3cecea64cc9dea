package sqlhandle

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Unbounded names the missing settings of db if nothing bounds how long a connect waits for a server that accepts the
// connection and then stays silent. database/sql opens connections with a context without a deadline, and such a
// connect occupies a place in the pool. Unbounded returns "" if connects are bounded or the driver is unknown.
func Unbounded(db *sql.DB) string {
	connector := Connector(db)
	if connector == nil {
		return ""
	}
	v := reflect.Indirect(reflect.ValueOf(connector))
	if v.Kind() != reflect.Struct {
		return ""
	}
	var missing []string
	unless := func(name string, path ...string) {
		if isZero(v, path...) {
			missing = append(missing, name)
		}
	}
	switch strings.TrimPrefix(fmt.Sprintf("%T", db.Driver()), "*") {
	case "stdlib.Driver", "pq.Driver":
		if isZeroInDSN(v) {
			return "connect_timeout"
		}
		if PgxPool(db) == nil { // a pgx pool bounds its connects
			unless("connect_timeout", "ConnConfig", "Config", "ConnectTimeout")
		}
		unless("connect_timeout", "cfg", "ConnectTimeout")
	case "mysql.MySQLDriver":
		unless("timeout", "cfg", "Timeout")         // for the connection
		unless("readTimeout", "cfg", "ReadTimeout") // for the greeting of the server
	}
	return strings.Join(missing, " and ")
}

// Warnings returns the settings of db that weaken the promises of locks, for driver.Capabilities.
func Warnings(db *sql.DB) []string {
	missing := Unbounded(db)
	if missing == "" {
		return nil
	}
	return []string{"nothing bounds how long a connect waits for a server that says nothing, and it takes a place in the pool for as long: set " + missing + " in the DSN"}
}

// isZeroInDSN reports whether v contains a DSN for PostgreSQL that sets no connect_timeout, and the environment sets
// none either.
func isZeroInDSN(v reflect.Value) bool {
	// The field's name in pgx's connector, and in database/sql's connector for drivers that have none.
	for _, name := range []string{"name", "dsn"} {
		if dsn := v.FieldByName(name); dsn.IsValid() && dsn.Kind() == reflect.String {
			config, err := pgx.ParseConfig(dsn.String())
			return err == nil && config.ConnectTimeout == 0
		}
	}
	return false
}

// isZero reports whether the field at path exists and is a zero duration.
func isZero(v reflect.Value, path ...string) bool {
	for _, name := range path {
		if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
			return false
		}
		if v = v.FieldByName(name); !v.IsValid() {
			return false
		}
	}
	return v.CanInt() && v.Int() == 0
}
