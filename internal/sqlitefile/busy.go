// Package sqlitefile contains code for all statements on a SQLite file. A file has one writer at a time. A statement
// fails with a result code while another connection has locked the file.
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

// Busy reports whether err says that another connection has locked the file, or has changed the file since this
// connection began to read. In both cases the statement had no effect.
func Busy(err error) bool {
	code := sqlerror.SQLite(err) & 0xff
	return code == CodeBusy || code == CodeLocked
}

// slice is the busy timeout of one statement. The timeout must be short, because the driver waits even after ctx has
// ended. The timeout must not be zero, for this reason: with a rollback journal, a writer has to wait for the current
// readers before it can commit, and it keeps out new readers only while it waits.
const slice = 50 * time.Millisecond

// WithBusySlice sets a short busy timeout on a connection, and returns a function that restores the previous timeout.
// The function pragma must run a PRAGMA statement on the connection, and scan the timeout that the statement returns
// into ms. The end of ctx does not interrupt these statements, because they do not access the file.
//
// The parameter pool is nil unless the connection is in a transaction of the caller. In that case it is the pool of
// that transaction. The connection may have returned to this pool before restore is called.
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
