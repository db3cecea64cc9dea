package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
)

// node is one server of a Redlock.
type node struct {
	client *redis.Client
	addr   string
	wakes  subscriber
	work   *work // of its Redlock

	mu     sync.Mutex
	runID  string               // once it has been found fit
	turns  map[driver.Key]*turn // the last so far
	ending map[driver.Nonce]int // how many requests are under way that end the acquisition
}

// newNode is a node that calls this process on the channel own.
func newNode(client *redis.Client, work *work, own string) *node {
	n := &node{client: client, work: work, addr: client.Options().Addr, turns: make(map[driver.Key]*turn), ending: make(map[driver.Nonce]int)}
	n.wakes.client, n.wakes.own = client, own
	return n
}

// within is a client of the node whose connections give up after limit, whatever the caller's does, on the same pool.
func (n *node) within(limit time.Duration) *redis.Client { return n.client.WithTimeout(limit) }

// bound detaches a request from the caller's cancellation, because its outcome decides who holds a lock, and bounds it by
// limit and by the caller's deadline.
func bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// record is the key of what a node knows of itself. No lock has it: theirs have a colon behind the namespace.
func (o options) record() string { return o.prefix + "node" }
