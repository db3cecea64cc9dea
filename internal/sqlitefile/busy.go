// Package sqlitefile handles what all statements on a SQLite file have in common. A file has one writer at a time, and
// a result code says that another connection has locked it.
package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Result codes of SQLite: https://www.sqlite.org/rescode.html
const (
	CodeError        = 1
	CodePerm         = 3
	CodeBusy         = 5
	CodeLocked       = 6
	CodeReadonly     = 8
	CodeCantopen     = 14
	CodeAuth         = 23
	CodeBusySnapshot = 517 // of CodeBusy
)

// Busy reports whether another connection has locked the file, or has changed it since this one began to read. The
// statement had no effect.
func Busy(err error) bool {
	code := sqlerror.SQLite(err) & 0xff
	return code == CodeBusy || code == CodeLocked
}

// slice is the busy timeout of one statement. It must be short, because a driver's wait does not end with ctx. It must
// not be zero: with a rollback journal, only a waiting writer keeps new readers out until it can commit.
const slice = 50 * time.Millisecond

// WithBusySlice sets a short busy timeout on a connection, and returns a function that restores the old one. pragma
// runs a statement on the connection and scans its result, which is the timeout then in force. Pragmas access no file,
// so the end of ctx does not interrupt them.
//
// If the connection is in a transaction of the caller, pool is the pool to which it returns if that transaction ends
// meanwhile. Otherwise pool is nil.
func WithBusySlice(ctx context.Context, pool *sql.DB, pragma func(ctx context.Context, statement string, ms *int) error) (restore func() error, err error) {
	wait := slice
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(0, min(wait, time.Until(deadline)))
	}
	ctx = context.WithoutCancel(ctx)
	before := 0
	if err := pragma(ctx, "PRAGMA busy_timeout", &before); err != nil {
		return nil, err
	}
	set := func(ms int) error { return pragma(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", ms), &ms) }
	given := int(wait.Milliseconds())
	if err := set(given); err != nil {
		return nil, err
	}
	return func() error {
		err := set(before)
		if err != nil && pool != nil && given != before {
			restoreIn(pool, given, before)
		}
		return err
	}, nil
}
