package advisory

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is the longest wait of wait.sql.
const serverWait = 500 * time.Millisecond

// Await waits in the server's queue.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	return se.AwaitBy(ctx, h, serverWait, se.refusalOfWait, func(ctx context.Context, h *holding) (driver.Token, bool, error) {
		return se.take(ctx, wait, h)
	})
}

// refusalOfWait is refusal after a wait. The wait may have ended after the lock was granted. The session, which holds
// nothing else, is then closed.
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
