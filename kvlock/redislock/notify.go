package redislock

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Notify implements [driver.Notifier]. A release calls the process that has waited longest, of those whose requests as waiters
// were refused, and keeps the lock for it for 50 ms. Without one it tells all who listen on the channel that has the name of the
// lock's key; an expiry tells nobody. All waiters of a backend share one connection, which is opened with the first of
// them and closed with the last. When it breaks, everybody is woken as soon as there is another. If the account may not SUBSCRIBE,
// Notify fails at once, [Backend.Capabilities] has a warning, and the server is asked again after a minute at the earliest.
//
// On a Cluster it is ordinary pub/sub, which every server passes on to the others, because sharded pub/sub
// would need a connection for each slot that somebody waits for.
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
