// Package sqlitefile is what all statements on a SQLite file have to reckon with: it has one writer at
// a time, and says by a result code that somebody else has it.
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

// Busy recognises that another connection has the file, or had it since this one began to read. The
// statement had no effect.
func Busy(err error) bool {
	code := sqlerror.SQLite(err) & 0xff
	return code == CodeBusy || code == CodeLocked
}

// slice is the busy time-out of one statement. A driver's wait does not end with ctx, so it must be
// short; and not zero: with a rollback journal it is a writer's waiting that keeps new readers out
// until he can commit.
const slice = 50 * time.Millisecond

// WithBusySlice gives a connection a short busy time-out, and returns what puts its own one back.
// pragma runs a statement on it and scans its answer, which is the time-out that holds then. Pragmas
// touch no file, and so they are not interrupted by the end of ctx.
//
// Where the connection is in a transaction of the caller's, pool is where it goes when that ends meanwhile; else it is nil.
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
