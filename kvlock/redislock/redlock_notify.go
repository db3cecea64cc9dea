package redislock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// Notify implements [driver.Notifier]. It listens at every node, with one connection to each for all waiters, and returns when a
// majority is listened to: a release, which a majority carries out, is heard at one of them at least.
func (r *Redlock) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	if r.err != nil {
		return nil, driver.Permanent(r.err)
	}
	channel := r.options.encode(key)
	confirmed := make(chan struct{}, len(r.nodes))
	over := make(chan struct{})
	stops := make([]func(), len(r.nodes))
	for i, n := range r.nodes {
		w := &waiter{wake: wake}
		ready := n.wakes.add(channel, w)
		stops[i] = func() { n.wakes.remove(channel, w) }
		go func() {
			select {
			case <-ready:
				confirmed <- struct{}{}
			case <-over:
			}
		}()
	}
	stop = func() {
		for _, s := range stops {
			s()
		}
		close(over)
	}
	for range r.quorum() {
		select {
		case <-confirmed:
		case <-ctx.Done():
			stop()
			return nil, describe(ctx, "subscribe to", key, ctx.Err())
		}
	}
	return stop, nil
}
