package sqllock

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/sqlerror"
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
	code := sqlerror.SQLite(err) & 0xff
	return code == sqliteBusy || code == sqliteLocked
}
