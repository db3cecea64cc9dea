package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

// restoreLimit is how long restoreIn searches for a connection whose transaction has ended. By then it is in its pool
// again, or closed.
const restoreLimit = time.Second

// restoreIn restores the busy timeout of a connection that the caller can no longer use: its transaction has ended
// together with its context. database/sql returns the connection to the pool unchanged, unless its driver gives it up.
// restoreIn recognises it by the timeout that it was given.
func restoreIn(pool *sql.DB, given, before int) {
	ctx, cancel := context.WithTimeout(context.Background(), restoreLimit)
	defer cancel()
	for pause := time.Millisecond; ctx.Err() == nil; pause *= 2 {
		stats := pool.Stats()
		if restored(ctx, pool, stats.Idle, given, before) || stats.InUse == 0 {
			return
		}
		backoff.Sleep(ctx, pause)
	}
}

// restored checks idle connections of the pool.
func restored(ctx context.Context, pool *sql.DB, idle, given, before int) bool {
	for range idle {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return false
		}
		defer conn.Close() //nolint:errcheck // back to the pool, which reports nothing of use
		var ms int
		if conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&ms) == nil && ms == given {
			return conn.QueryRowContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", before)).Scan(&ms) == nil
		}
	}
	return false
}
