package postgres

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// sealedArgs are what acquire_sealed.sql takes behind the parameters of acquire_waiting.sql.
func sealedArgs(ctx context.Context, r driver.Request) []any {
	return []any{r.Seal, drainLimit(ctx, r.TTL).Milliseconds()}
}

// drainLimit is how long a grant waits for the transactions of older holders: half of the TTL, so that
// what is then left of the lease is of use, and no longer than ctx leaves time for another statement.
func drainLimit(ctx context.Context, ttl time.Duration) time.Duration {
	limit := min(ttl/2, sqlbase.LongRetry)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*3/4)
	}
	return max(limit, time.Millisecond)
}

// draining says why a sealed grant waited in vain: for whoever holds the mark, or for an insert of the
// same name. Nothing was granted, whatever becomes of the question: without an answer it was the mark,
// which is waited for longer.
func (p *Backend) draining(ctx context.Context, key driver.Key) sqlbase.Answer {
	var a sqlbase.Answer
	if found, err := p.one(ctx, "draining", []any{key.Namespace, key.Name}, a.Dest()...); err != nil || !found {
		return sqlbase.Answer{Verdict: sqlbase.Draining}
	}
	return a
}

// timedOut recognises a statement that the server has undone at the statement_timeout of the caller's own, and not
// because ctx ended.
func timedOut(ctx context.Context, err error) bool {
	return sqlerror.State(err) == "57014" && ctx.Err() == nil
}

// unsealable recognises a mark's table that is missing, outdated, or closed to the role. That is for the
// guard to say: a lock needs no such table.
func unsealable(err error) bool {
	switch sqlerror.State(err) {
	case "42P01", "42703", "3F000", "42501":
		return true
	default:
		return false
	}
}
