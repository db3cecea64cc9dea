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
	work   *work // the work of the backend

	mu      sync.Mutex
	bounded *redis.Client        // the last client that within made
	limit   time.Duration        // limit of bounded
	run     *run                 // nil until the server was found fit
	missed  bool                 // the last contact got no answer
	turns   map[driver.Key]*turn // the last turn for each key
	ending  map[driver.Nonce]int // number of running requests that release the acquisition
}

// newNode makes a node. Its server notifies this process on the channel own.
func newNode(client *redis.Client, work *work, own string) *node {
	n := &node{client: client, work: work, addr: client.Options().Addr, turns: make(map[driver.Key]*turn), ending: make(map[driver.Nonce]int)}
	n.wakes = redisbase.NewSubscriber(client, own)
	return n
}

// isUnknown reports whether the server has not been found fit yet.
func (n *node) isUnknown() bool { return n.known() == nil }

// known returns the run of the server, or nil if it has not been found fit yet.
func (n *node) known() *run {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run
}

// forget makes the node be checked again, because its server has a new run, and may be another server.
func (n *node) forget(of *run) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.run == of {
		n.run = nil
	}
}

// isAbsent reports whether the server has not been found fit and did not answer the last contact.
func (n *node) isAbsent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run == nil && n.missed
}

// contacted records whether a contact was answered.
func (n *node) contacted(answered bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.missed = !answered
}

// within returns a client on the same connection pool whose requests end after limit, whatever the limits of the
// caller's client are.
func (n *node) within(limit time.Duration) *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bounded == nil || n.limit != limit {
		n.bounded, n.limit = n.client.WithTimeout(limit), limit
	}
	return n.bounded
}

// bound detaches a request from the caller's cancellation, because its outcome decides who holds the lock. The request
// is limited by limit and by the caller's deadline.
func bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}
