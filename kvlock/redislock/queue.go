package redislock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// mostListed is the largest number of waiters in a queue. Further waiters only poll.
const mostListed = 10_000

// leaveLimit is the timeout of the request that removes a waiter from the queue.
const leaveLimit = time.Second

var leaveScript = redisbase.Load(files, "leave").WithLists()

// elsewhere returns "1" if a subscriber may be connected to a server that does not have the lock, which is possible on
// a Cluster.
func (b *Backend) elsewhere() string {
	if redisbase.IsCluster(b.client) {
		return "1"
	}
	return ""
}

// leave removes this process from the queue of key after its last waiter has given up, and waits for the reply. If the
// request fails, one release within the next 25 seconds may still reserve the lock for this process, for 50 ms.
func (b *Backend) leave(key driver.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	_, _ = send(ctx, b, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, redisbase.Run(ctx, b.client, leaveScript.On([]string{b.options.prefix.Encode(key)},
			b.places.ID.String(), b.options.prefix.Waiters(), b.elsewhere(),
		)).Err()
	})
}
