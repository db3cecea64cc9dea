package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is how long one wait on the server lasts, in seconds. It must be short, because the server may not
// notice during a wait that the client has disconnected. MySQL rounds to whole seconds,
// and MariaDB does not support −1 for an unlimited wait.
const serverWait = 1

// Await waits in the server's queue for h's lock.
// The waiting statement also makes the number of the token when the lock is granted. Await reads the mint and prepares the
// unlock statement first, so that neither delays the grant, the release and the next waiter.
func (se *session) Await(ctx context.Context, h *holding) (driver.Token, error) {
	return se.AwaitBy(ctx, h, serverWait*time.Second, se.refusal, func(ctx context.Context, h *holding) (driver.Token, bool, error) {
		var token driver.Token
		var granted bool
		err := se.conn.ready(ctx, se.backend.sql["unlock"])
		if err == nil && !se.backend.opts.noToken && !se.mint.known() {
			se.mint, _, err = se.backend.minting(ctx, se.conn)
		}
		if err == nil {
			token, granted, err = se.take(ctx, h, serverWait)
		}
		if err != nil {
			se.Broken = err
		}
		return token, granted, err
	})
}
