package redislock

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Notify implements [driver.Notifier]. It listens at every node, with one connection to each for all waiters, and returns when a
// majority is listened to: a release, which a majority carries out, is heard at one of them at least.
//
// A release calls, at each node, the process that has waited longest there; mostly that is the same one everywhere. Nothing is kept
// for it: nodes that keep a lock for different waiters would keep it from all. Without a waiter in the queue, all who listen are told.
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
	r.places.join(key)
	stop = sync.OnceFunc(func() {
		for _, s := range stops {
			s()
		}
		close(over)
		if r.places.leave(key) {
			r.leave(key)
		}
	})
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

// leave takes a waiter that gave up out of the queues. Where that fails, releases of the next three seconds may call it, once.
func (r *Redlock) leave(key driver.Key) {
	if r.begin() != nil {
		return
	}
	defer r.work.done()
	for _, n := range r.nodes {
		r.work.run(func() {
			ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
			defer cancel()
			_ = run(ctx, n.within(leaveLimit), call{redlockLeaveScript, []string{r.options.encode(key)}, []any{r.places.id.String(), r.options.calls()}}).Err()
		})
	}
}
