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

// Notify implements [driver.Notifier]. It subscribes at every node. All waiters of the backend share one connection to
// each node. Notify returns when a majority of the nodes has confirmed the subscription. A release also needs a
// majority, so at least one subscribed node sends a notification.
//
// At each node, a release notifies the process that has waited longest. Each waiting process measures its wait on its
// own clock, so all nodes choose the same process. No node reserves the lock for that process: if nodes reserved the
// lock for different waiters, all of these waiters would be refused. If there is no waiter, a release notifies all
// subscribers of the lock's channel.
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
		w := &redisbase.Waiter{Wake: func() {
			r.resting.Delete(key)
			wake()
		}}
		topic, err := n.wakes.Add(channel, w)
		if err != nil {
			answers <- err
			continue
		}
		stops = append(stops, func() { n.wakes.Remove(channel, w) })
		go func() { answers <- topic.Await(listening) }()
	}
	r.resting.Delete(key)
	r.places.Join(key)
	stop = sync.OnceFunc(func() {
		for _, s := range stops {
			s()
		}
		r.resting.Delete(key)
		r.lots.Delete(key)
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

// waiters returns the key of the set of waiters for a lock. No lock has such a key, because in the key of a lock a
// colon or an @ follows the prefix.
func (r *Backend) waiters(key driver.Key) string {
	return string(r.options.prefix) + "%queue" + strings.TrimPrefix(r.options.prefix.Encode(key), string(r.options.prefix))
}

// leaveLimit is the timeout of the requests that remove a waiter from the sets of waiters.
const leaveLimit = time.Second

// leave removes this process from the nodes' sets of waiters for key, after its last waiter has given up. If a request
// fails, one release within the next five minutes may still notify this process.
func (r *Backend) leave(key driver.Key) {
	if r.begin() != nil {
		return
	}
	defer r.crew.Leave()
	inquire(r, func(n *node) func() (bool, error) {
		t := n.turn(key, driver.Nonce{})
		return func() (bool, error) {
			defer t.end()
			t.wait(context.Background(), nil) // an earlier request may add this process to the set
			ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
			defer cancel()
			return redisbase.Run(ctx, n.within(leaveLimit), leaveScript.On([]string{r.options.prefix.Encode(key), r.waiters(key)}, r.places.ID.String(), r.options.prefix.Waiters())).Bool()
		}
	})
}
