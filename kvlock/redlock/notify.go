package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Notify implements [driver.Notifier]. It listens at every node, with one connection to each for all waiters, and returns when a
// majority is listened to: a release, which a majority carries out, is heard at one of them at least.
//
// A release notifies, at each node, the process that has waited longest by its own clock, which is the same one everywhere. No node reserves the lock
// for it: nodes that reserve it for different waiters would refuse all of them. Without a waiter, all who listen are notified.
func (r *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	if r.err != nil {
		return nil, driver.Permanent(r.err)
	}
	channel := r.options.prefix.Encode(key)
	listening, end := context.WithCancel(ctx)
	defer end()
	answers := make(chan error, len(r.nodes))
	var stops []func()
	for _, n := range r.nodes {
		w := &redisbase.Waiter{Wake: wake}
		topic, err := n.wakes.Add(channel, w)
		if err != nil {
			answers <- err
			continue
		}
		stops = append(stops, func() { n.wakes.Remove(channel, w) })
		go func() { answers <- topic.Await(listening) }()
	}
	r.places.Join(key)
	stop = sync.OnceFunc(func() {
		for _, s := range stops {
			s()
		}
		if r.places.Leave(key) {
			r.leave(key)
		}
	})
	for confirmed, failed := 0, 0; confirmed < r.quorum(); {
		if err := <-answers; err == nil {
			confirmed++
		} else if failed++; failed > len(r.nodes)-r.quorum() {
			stop()
			return nil, redisbase.Describe(ctx, pkg, "subscribe to", key, fmt.Errorf("%d of %d nodes failed: %w", failed, len(r.nodes), err))
		}
	}
	return stop, nil
}

// waiters is the key of the set of those who wait for a lock. No lock has a key like it, because there a % stands before two digits.
func (r *Backend) waiters(key driver.Key) string {
	return string(r.options.prefix) + "%queue" + strings.TrimPrefix(r.options.prefix.Encode(key), string(r.options.prefix))
}

// leaveLimit bounds what a waiter that gives up does for those who wait on.
const leaveLimit = time.Second

// leave takes a waiter that gave up out of the queues. Where that fails, a release of the next minute may call it, once.
func (r *Backend) leave(key driver.Key) {
	if r.begin() != nil {
		return
	}
	defer r.work.done()
	for _, n := range r.nodes {
		r.work.run(func() {
			ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
			defer cancel()
			_ = redisbase.Run(ctx, n.within(leaveLimit), leaveScript.On([]string{r.options.prefix.Encode(key), r.waiters(key)}, r.places.ID.String(), r.options.prefix.Waiters())).Err()
		})
	}
}
