package sqlhandle

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Unbounded names the settings that would limit how long opening a connection takes, and that db does not set. Without
// them, the driver may wait forever for a server that accepts the connection and then does not answer. The reason is
// that database/sql may open a connection with a context that has no deadline. A connection that is being opened counts
// towards the pool's limit. Unbounded returns "" if no such setting is missing or the driver is unknown.
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
		if PgxPool(db) == nil { // a pgx pool limits this time itself
			unless("connect_timeout", "ConnConfig", "Config", "ConnectTimeout")
		}
		unless("connect_timeout", "cfg", "ConnectTimeout")
	case "mysql.MySQLDriver":
		unless("timeout", "cfg", "Timeout")         // for the connection
		unless("readTimeout", "cfg", "ReadTimeout") // limits the wait for the server's greeting
	}
	return strings.Join(missing, " and ")
}

// Warnings returns a warning for each setting of db that weakens the promises of locks, for driver.Capabilities.
func Warnings(db *sql.DB) []string {
	missing := Unbounded(db)
	if missing == "" {
		return nil
	}
	return []string{"no setting limits how long opening a connection waits for a server that does not answer, and meanwhile it counts towards the pool's limit: set " + missing + " in the DSN"}
}

// isZeroInDSN reports whether neither the DSN for PostgreSQL in v nor the environment sets a connect_timeout.
func isZeroInDSN(v reflect.Value) bool {
	// The DSN is in the field name of pgx's connector, or in the field dsn of database/sql's connector for drivers
	// without a connector.
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
