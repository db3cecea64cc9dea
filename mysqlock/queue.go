package mysqlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// serverWait is how long the server lets a session wait at a time, in seconds. A longer wait would
// outlast a client that is gone; MySQL rounds to seconds, and MariaDB takes no −1 for ever.
const serverWait = 1

// Await waits in the server's queue. The statement that is granted the lock takes the token, too. The one that releases
// it is prepared before: whoever is next waits for that no longer.
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
