package mysqlock

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlhandle"
)

// longestWait limits one wait on the server, and the time for its reply. During the wait the server notices within a
// second that a waiter's connection was closed. But a waiter that is suspended stays in the queue until its wait ends.
const longestWait = 30 * time.Second

// longestWaitOn returns longestWait, or the time after which the driver of db gives up a statement if that is shorter.
func longestWaitOn(db *sql.DB) time.Duration {
	if limit := sqlhandle.ReadTimeout(db); limit > 0 {
		return min(limit, longestWait)
	}
	return longestWait
}

// serverWait returns how long one wait on the server lasts. MySQL rounds to whole seconds, and MariaDB does not support
// −1 for an unlimited wait. A sixth of the TTL or of the parameter longest remains for the reply, so a waiter notices a
// silent server within one TTL.
func serverWait(ttl, longest time.Duration) time.Duration {
	return max((min(ttl, longest) * 5 / 6).Truncate(time.Second), time.Second)
}

// Await waits in the server's queue for h's lock.
// The waiting statement also makes the number of the token when the lock is granted. Await reads the mint and prepares the
// unlock statement first, so that neither delays the grant, the release and the next waiter.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	each := serverWait(h.TTL, se.backend.longest)
	return se.AwaitBy(ctx, h, each, se.refusal, func(ctx context.Context, h *holding) (driver.Token, bool, error) {
		var token driver.Token
		var granted bool
		err := se.conn.ready(ctx, se.backend.sql["unlock"])
		if err == nil && !se.backend.opts.NoToken && !se.mint.known() {
			se.mint, _, err = se.backend.minting(ctx, se.conn)
		}
		if err == nil {
			token, granted, err = se.take(ctx, h, int(each/time.Second))
		}
		if tooLong(err) {
			if _ = se.failed(ctx, h, err); se.Broken == nil {
				return 0, false, nil // without an error, AwaitBy starts another wait
			}
		}
		if err != nil {
			se.Broken = err
		}
		return token, granted, err
	})
}

// tooLong reports whether the server cancelled a statement that took longer than max_execution_time (MySQL) or
// max_statement_time (MariaDB) allows.
func tooLong(err error) bool {
	code := sqlerror.MySQL(err)
	return code == 3024 || code == 1969
}
