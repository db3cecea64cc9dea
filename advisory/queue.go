package advisory

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is how long wait.sql waits at most.
const serverWait = 500 * time.Millisecond

// Await waits in the server's queue.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	return se.AwaitBy(ctx, h, serverWait, func(ctx context.Context, h *holding) error {
		if held := se.refusal(ctx, h); se.Broken == nil {
			return held
		}
		return se.Broken
	}, func(ctx context.Context, h *holding) (driver.Token, bool, error) {
		return se.take(ctx, "wait", h)
	})
}
