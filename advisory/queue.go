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
//
// Between two waits, a writer has no place in the queue, and readers that are behind it are granted the lock. So after
// the first wait that readers made time out, Await reserves the key. From then on the writer is not overtaken.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	reserved := false
	token, err := se.AwaitBy(ctx, h, serverWait,
		func(ctx context.Context, h *holding) error { return se.refusalOfWait(ctx, h, &reserved) },
		func(ctx context.Context, h *holding) (driver.Token, bool, error) { return se.take(ctx, wait, h) },
	)
	switch {
	case !reserved || se.Broken != nil:
	case err != nil: // closing the connection ends the reservation
		se.Broken = err
	default:
		err = se.unreserve(ctx, h)
	}
	return token, err
}

// refusalOfWait returns the refusal after a wait that timed out. If the lock was granted just before the timeout, the
// session holds the lock. Then refusalOfWait marks the session as broken, so that the session is closed and the lock
// becomes free. No other lock is lost, because a waiting session holds none. If readers hold the lock and h is a
// writer, refusalOfWait reserves the key. It sets reserved if the server made the reservation.
func (se *session) refusalOfWait(ctx context.Context, h *holding, reserved *bool) error {
	list, err := se.holders(ctx, sql.NullInt64{Int64: h.ID, Valid: true})
	if err == nil && slices.ContainsFunc(list, func(other holder) bool { return other.PID == int64(se.pid) }) {
		err = driver.NotApplied(errTooLate)
	}
	if err == nil && !h.Shared && !*reserved && readers(list) > 0 {
		*reserved, err = se.reserve(ctx, "reserve", h)
	}
	if err != nil {
		se.Broken = err
		return err
	}
	return refusedBy(list, h.Shared)
}

// reserve runs the statement reserve.sql or unreserve.sql on h's key, depending on verb. It returns whether the server
// did so.
func (se *session) reserve(ctx context.Context, verb string, h *holding) (done bool, err error) {
	var at int64
	err = se.query(ctx, verb, []any{h.ID, int64(se.pid)}, &at, &done)
	if err == nil && at != int64(se.pid) {
		err = se.moved(at)
	}
	return done, err
}

// unreserve ends the reservation of h's key after the grant. If the statement fails, unreserve marks the session as
// broken. Closing the session then ends the reservation and releases the lock.
func (se *session) unreserve(ctx context.Context, h *holding) error {
	_, err := se.reserve(ctx, "unreserve", h)
	if err != nil {
		se.Broken = err
		return driver.NotApplied(err)
	}
	return nil
}
