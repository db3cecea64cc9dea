package advisory

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is how long wait.sql waits at most.
const serverWait = 500 * time.Millisecond

// Await waits in the server's queue, again and again. A session that is in doubt holds nothing, or soon: it is closed.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	held := error(&driver.Held{Reason: driver.Leased})
	for {
		if refusal := se.refusal(ctx, h); se.Broken == nil {
			held = refusal
		} else if ctx.Err() == nil {
			return 0, se.Broken
		}
		if ctx.Err() != nil {
			return 0, held
		}
		switch token, had, err := se.wait(ctx, h); {
		case err != nil && ctx.Err() != nil:
			se.Broken = err
			return 0, held
		case err != nil || had:
			return token, err
		}
	}
}

// wait is one of the server's waits. A server that is silent for a TTL behind it is given up.
func (se *session) wait(ctx context.Context, h *holding) (driver.Token, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, serverWait+max(h.TTL, time.Second))
	defer cancel()
	return se.take(ctx, "wait", h)
}
