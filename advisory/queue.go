package advisory

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is the lock_timeout that wait.sql sets.
const serverWait = 500 * time.Millisecond

// Await waits in the server's queue for h's lock, in waits of at most serverWait.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	return se.AwaitBy(ctx, h, serverWait, se.refusalOfWait, func(ctx context.Context, h *holding) (driver.Token, bool, error) {
		return se.take(ctx, wait, h)
	})
}

// refusalOfWait returns the refusal after a wait that timed out. If the lock was granted just before the timeout,
// the session holds the lock. Then refusalOfWait marks the session as broken, so that it is closed.
// The session holds no other locks.
func (se *session) refusalOfWait(ctx context.Context, h *holding) error {
	list, err := se.holders(ctx, sql.NullInt64{Int64: h.ID, Valid: true})
	if err == nil && slices.ContainsFunc(list, func(other holder) bool { return other.PID == int64(se.pid) }) {
		err = driver.NotApplied(errTooLate)
	}
	if err != nil {
		se.Broken = err
		return err
	}
	return refusedBy(list)
}
