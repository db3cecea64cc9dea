package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is how long one wait on the server lasts, in seconds. A longer wait would outlast a client that has
// disconnected. MySQL rounds to seconds, and MariaDB does not support −1 for an unlimited wait.
const serverWait = 1

// Await waits in the server's queue. The statement that is granted the lock also takes the token. Await prepares the
// unlock statement first, so that the release does not delay the next waiter.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	return se.AwaitBy(ctx, h, serverWait*time.Second, se.refusal, func(ctx context.Context, h *holding) (driver.Token, bool, error) {
		var token driver.Token
		var granted bool
		err := se.conn.ready(ctx, se.backend.sql["unlock"])
		if err == nil {
			token, granted, err = se.take(ctx, h, serverWait)
		}
		if err != nil {
			se.Broken = err
		}
		return token, granted, err
	})
}
