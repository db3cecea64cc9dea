package sqllock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Result codes of SQLite: https://www.sqlite.org/rescode.html
const (
	sqliteError        = 1
	sqlitePerm         = 3
	sqliteBusy         = 5
	sqliteLocked       = 6
	sqliteReadonly     = 8
	sqliteCantopen     = 14
	sqliteAuth         = 23
	sqliteBusySnapshot = 517
)

// busySlice is the busy time-out of each statement. The driver's wait does not end with ctx, so it
// must be short. It must not be zero: with a rollback journal it is a writer's waiting that keeps
// new readers out until he can commit.
const busySlice = 50 * time.Millisecond

// withBusySlice gives q's connection that time-out, and returns what puts its own one back. Pragmas
// touch no file, and so are not interrupted.
func withBusySlice(ctx context.Context, q querier) (restore func() error, err error) {
	slice := busySlice
	if deadline, ok := ctx.Deadline(); ok {
		slice = max(0, min(slice, time.Until(deadline)))
	}
	ctx = context.WithoutCancel(ctx)
	before := 0
	if _, err := queryOne(ctx, q, "PRAGMA busy_timeout", nil, &before); err != nil {
		return nil, err
	}
	set := func(ms int) error {
		_, err := q.exec(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", ms))
		return err
	}
	if err := set(int(slice.Milliseconds())); err != nil {
		return nil, err
	}
	return func() error { return set(before) }, nil
}

// busy recognises that another connection has the file, or had it since this one began to read. The
// statement had no effect.
func busy(err error) bool {
	code := sqliteCode(err) & 0xff
	return code == sqliteBusy || code == sqliteLocked
}

// sqliteCode is the extended result code that err or one of its causes carries, or 0. Drivers have
// it as a method (modernc, ncruces) or as a field (mattn) called ExtendedCode or Code, of some
// integer type.
func sqliteCode(err error) int {
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				if code := sqliteCode(e); code != 0 {
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
