// Package sqlerror reads the codes in errors of SQL drivers, so that errors are identified by codes and never by texts.
package sqlerror

import (
	"errors"
	"reflect"

	mysqldriver "github.com/go-sql-driver/mysql"
)

// State returns the SQLSTATE of an error of a Postgres driver (pgx, lib/pq), or "" for any other error.
func State(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// MySQL returns the number of an error of a MySQL or MariaDB server, or 0 for any other error.
func MySQL(err error) uint16 {
	var e *mysqldriver.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// SQLite returns the extended result code of err or of an error that err wraps, or 0 if there is no code. Drivers
// provide the code as a method (modernc, ncruces) or as a field (mattn), called ExtendedCode or Code. The code has an
// integer type that differs between drivers.
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

// field returns a field of a struct, or of the struct that a pointer points to. If there is none, it returns the zero
// Value.
func field(v reflect.Value, name string) reflect.Value {
	if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}

// integer returns the value of v if v is an integer. If v is a method without parameters that returns an integer, it
// returns that result. Otherwise it returns 0.
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
