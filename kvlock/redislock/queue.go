package redislock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// leaveLimit bounds what a waiter that gives up does for those who wait on.
const leaveLimit = time.Second

var leaveScript = redisbase.LoadQueued(files, "leave")

// elsewhere is "1" where those who listen may be connected to another server than the one that has the lock.
func (b *Backend) elsewhere() string {
	if redisbase.IsCluster(b.client) {
		return "1"
	}
	return ""
}

// leave takes a waiter that gave up out of the queue, and waits for the reply. If that fails, releases of the next three seconds may keep the lock for
// it, once, for a moment.
func (b *Backend) leave(key driver.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	_, _ = do(ctx, b, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, redisbase.Run(ctx, b.client, leaveScript.On([]string{b.options.prefix.Encode(key)},
			b.places.ID.String(), b.options.prefix.Waiters(), b.elsewhere(),
		)).Err()
	})
}
