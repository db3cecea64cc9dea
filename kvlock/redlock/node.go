package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// node is one server of a backend.
type node struct {
	client *redis.Client
	addr   string
	wakes  *redisbase.Subscriber
	work   *work // counts the running goroutines of the backend

	mu      sync.Mutex
	bounded *redis.Client        // the client that the method within returned last
	limit   time.Duration        // requests of the client in the field bounded time out after this time
	run     *run                 // nil until the server has been found fit to be a node
	missed  bool                 // the server did not answer the last INFO request
	turns   map[driver.Key]*turn // for each key, the last request that has started
	ending  map[driver.Nonce]int // for each acquisition, the number of running requests that release it
}

// newNode makes a node. The parameter own is the channel on which the node's server notifies this process.
func newNode(client *redis.Client, work *work, own string) *node {
	n := &node{client: client, work: work, addr: client.Options().Addr, turns: make(map[driver.Key]*turn), ending: make(map[driver.Nonce]int)}
	n.wakes = redisbase.NewSubscriber(client, own)
	return n
}

// isUnknown reports whether the server has not been found fit yet.
func (n *node) isUnknown() bool { return n.known() == nil }

// known returns the run of the server, or nil if the server has not been found fit yet.
func (n *node) known() *run {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run
}

// forget makes fit check the node's server again. Call it with the run of the server that has ended, because the node's
// address may now belong to another server.
func (n *node) forget(of *run) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.run == of {
		n.run = nil
	}
}

// isAbsent reports whether the server has not been found fit yet, and did not answer the last INFO request.
func (n *node) isAbsent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run == nil && n.missed
}

// contacted records whether the server has answered an INFO request.
func (n *node) contacted(answered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.missed = !answered
}

// within returns a client whose requests time out after limit, whatever the timeouts of the caller's client are. Both
// clients share one connection pool.
func (n *node) within(limit time.Duration) *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bounded == nil || n.limit != limit {
		n.bounded, n.limit = n.client.WithTimeout(limit), limit
	}
	return n.bounded
}

// bound detaches a request from the caller's cancellation, because its outcome decides who holds the lock. The request
// ends after limit, or at the caller's deadline if that is earlier.
func bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}
