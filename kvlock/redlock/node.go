package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// node is one server of a Redlock.
type node struct {
	client *redis.Client
	addr   string
	wakes  *redisbase.Subscriber
	work   *work // of its Redlock

	mu      sync.Mutex
	bounded *redis.Client        // the last that within made
	limit   time.Duration        // of bounded
	run     *run                 // once it has been found fit
	missed  bool                 // the last contact had no answer
	turns   map[driver.Key]*turn // the last so far
	ending  map[driver.Nonce]int // how many requests are under way that end the acquisition
}

// newNode is a node that calls this process on the channel own.
func newNode(client *redis.Client, work *work, own string) *node {
	n := &node{client: client, work: work, addr: client.Options().Addr, turns: make(map[driver.Key]*turn), ending: make(map[driver.Nonce]int)}
	n.wakes = redisbase.NewSubscriber(client, own)
	return n
}

// isStranger says whether the node has not been found fit.
func (n *node) isStranger() bool { return n.known() == nil }

// known is the run of the node, once it has been found fit.
func (n *node) known() *run {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run
}

// forget has the node looked at again: it is another run of its server, and may be another server.
func (n *node) forget(of *run) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.run == of {
		n.run = nil
	}
}

// isAbsent says whether the node has not been found fit and did not answer when it was asked last.
func (n *node) isAbsent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run == nil && n.missed
}

// contacted notes whether a contact was answered.
func (n *node) contacted(answered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.missed = !answered
}

// within is a client of the node whose connections give up after limit, whatever the caller's does, on the same pool.
func (n *node) within(limit time.Duration) *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bounded == nil || n.limit != limit {
		n.bounded, n.limit = n.client.WithTimeout(limit), limit
	}
	return n.bounded
}

// bound detaches a request from the caller's cancellation, because its outcome decides who holds a lock, and bounds it by
// limit and by the caller's deadline.
func bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}
