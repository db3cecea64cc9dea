package sqlhandle

import (
	"database/sql"
	"reflect"
	"time"
)

// ReadTimeout returns how long go-sql-driver/mysql waits for the reply to a statement before it gives up the
// connection. It returns 0 if there is no such limit or it cannot be read.
func ReadTimeout(db *sql.DB) time.Duration {
	v := reflect.Indirect(reflect.ValueOf(Connector(db)))
	if v.Kind() != reflect.Struct {
		return 0
	}
	if v = reflect.Indirect(v.FieldByName("cfg")); v.Kind() != reflect.Struct {
		return 0
	}
	field := v.FieldByName("ReadTimeout")
	if !field.IsValid() || field.Type() != reflect.TypeFor[time.Duration]() {
		return 0
	}
	return time.Duration(field.Int())
}
