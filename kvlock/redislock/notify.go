package redislock

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Notify implements [driver.Notifier]. A release notifies the process that has waited longest, among those whose
// requests as waiters were refused, and reserves the lock for it for 50 ms. If there is none, it notifies all
// subscribers of the channel with the name of the lock's key. An expiry notifies nobody.
//
// All waiters of a backend share one connection, which is opened with the first and closed with the last. When a broken
// connection has been replaced, all waiters are woken. If the account may not SUBSCRIBE, Notify fails at once,
// [Backend.Capabilities] has a warning, and the server gets the next request after a minute at the earliest.
//
// On a Cluster it uses ordinary pub/sub, which every server forwards to the others. Sharded pub/sub would need a
// connection for each slot that has waiters.
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
