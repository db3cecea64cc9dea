package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

// restoreLimit is how long restoreIn searches the pool for a connection whose transaction has ended. Within that
// time, the connection returns to its pool or is closed.
const restoreLimit = time.Second

// restoreIn restores the busy timeout of a connection whose transaction was ended by the end of its context.
// database/sql returns such a connection to the pool with the short timeout, unless the driver closes the connection.
// restoreIn looks for a connection whose timeout is equal to the parameter given, and sets that timeout to the
// parameter previous.
func restoreIn(pool *sql.DB, given, previous int) {
	ctx, cancel := context.WithTimeout(context.Background(), restoreLimit)
	defer cancel()
	for pause := time.Millisecond; ctx.Err() == nil; pause *= 2 {
		stats := pool.Stats()
		if restored(ctx, pool, stats.Idle, given, previous) || stats.InUse == 0 {
			return
		}
		backoff.Sleep(ctx, pause)
	}
}

// restored checks idle connections of the pool. It restores the timeout of the first connection whose timeout is equal
// to the parameter given.
func restored(ctx context.Context, pool *sql.DB, idle, given, before int) bool {
	for range idle {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return false
		}
		defer conn.Close() //nolint:errcheck // returns the connection to the pool; the error has no consequence
		var ms int
		if conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&ms) == nil && ms == given {
			return conn.QueryRowContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", before)).Scan(&ms) == nil
		}
	}
	return false
}
