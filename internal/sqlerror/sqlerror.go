// Package sqlerror reads the codes that the errors of SQL drivers carry, so that an error is told by
// its code and never by its text.
package sqlerror

import (
	"errors"
	"reflect"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// State is the SQLSTATE that a Postgres driver's error carries (pgx, lib/pq), or "".
func State(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// MySQL is the number of a MySQL or MariaDB server's error, or 0.
func MySQL(err error) uint16 {
	var e *mysqldriver.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// SQLite is the extended result code that err or one of its causes carries, or 0. Drivers have it
// as a method (modernc, ncruces) or as a field (mattn) called ExtendedCode or Code, of some integer
// type.
func SQLite(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if code := SQLite(e); code != 0 {
					return code
				}
			}
			return 0
		}
		v := reflect.ValueOf(err)
		for _, code := range []reflect.Value{
			v.MethodByName("ExtendedCode"), field(v, "ExtendedCode"), v.MethodByName("Code"), field(v, "Code"),
		} {
			if n := integer(code); n != 0 {
				return n
			}
		}
	}
	return 0
}

// field is a field of a struct, or of what a pointer points to; the zero Value if there is none.
func field(v reflect.Value, name string) reflect.Value {
	if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

// integer is the integer that v is, or that v as a method without parameters returns; else 0.
func integer(v reflect.Value) int {
	if v.Kind() == reflect.Func && v.Type().NumIn() == 0 && v.Type().NumOut() == 1 {
		v = v.Call(nil)[0]
	}
	switch {
	case v.CanInt():
		return int(v.Int())
	case v.CanUint():
		return int(v.Uint()) //nolint:gosec // a result code
	default:
		return 0
	}
}
