package redislock

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Notify implements [driver.Notifier]. A process enters the lock's queue with its first refused request after
// Notify. A release notifies the first process in the queue, and reserves the lock for that process for 50 ms. If the
// queue is empty, the release publishes a message on the lock's channel, which has the same name as the lock's key.
// All waiters subscribe to that channel. A release that notifies the first process also notifies the second
// process, which sends a request after the reservation, unless it is notified again. If a waiter is granted a share, the first process that is still in the queue
// is notified too, because it may wait for a share. If a lease expires, nobody is notified.
//
// All waiters of a backend share one connection. The first waiter opens it, and the last waiter closes it. When the
// backend has replaced a broken connection, it wakes all waiters. If the account may not SUBSCRIBE, Notify fails at
// once, and [Backend.Capabilities] has a warning. The backend tries to subscribe again after a minute at the earliest.
//
// On a Cluster, the backend uses ordinary pub/sub, which every server forwards to the others. Sharded pub/sub would
// need a connection for each slot that has waiters.
func (b *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	if b.err != nil {
		return nil, driver.Permanent(b.err)
	}
	channel := b.options.prefix.Encode(key)
	w := &redisbase.Waiter{Wake: wake}
	topic, err := b.wakes.Add(channel, w)
	if err != nil {
		return nil, redisbase.Describe(ctx, pkg, "subscribe to", key, err)
	}
	b.places.Join(key)
	stop = sync.OnceFunc(func() {
		b.wakes.Remove(channel, w)
		if b.places.Leave(key) {
			b.leave(key)
		}
	})
	if err := topic.Await(ctx); err != nil {
		stop()
		return nil, redisbase.Describe(ctx, pkg, "subscribe to", key, err)
	}
	return stop, nil
}
