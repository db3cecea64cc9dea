package redlock

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/crew"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Backend keeps locks in a majority of independent Redis servers, with the Redlock algorithm
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). It is safe for concurrent use. It never
// closes the clients. Call [Backend.Close] before you close them.
//
// The benefit of Redlock is that locks can be acquired while a minority of the servers is down. It is not safer than a
// lease row or one Redis server: see docs/redlock.md.
//
// Before the lock is granted, a majority of the servers confirms the grant's token, if needed in a second round. Each
// server confirms rising tokens only. So tokens rise as long as no majority loses its data within one MaxTTL. Because a
// majority can lose its data, the tokens are best effort. Protect rows of a SQL database with fence.Claim, where the
// database makes the tokens.
type Backend struct {
	nodes   []*node
	options options
	places  *redisbase.Places
	lots    sync.Map // of driver.Key: the lot of each lock for which this process waits
	resting sync.Map // of driver.Key: the locks for which this process was refused at all nodes, and was not notified since
	err     error    // an invalid argument or option; nil if the backend can work

	crew   crew.Crew // counts the running calls and their goroutines
	closed atomic.Bool
	newest atomic.Int64 // the last number that the method number returned, or a larger token that a node has reported

	met      atomic.Bool  // the first call has contacted the nodes
	looked   atomic.Int64 // when the last background contact began, in Unix nanoseconds
	checking sync.Mutex   // held while the run ids of the nodes' servers are compared
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Notifier = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// pkg is the package name with which error texts begin.
const pkg = "redlock"

// New makes a backend that keeps locks in a majority of nodes. Pass an odd number of nodes, at least three. Each node
// is a client of one server that is independent of the other servers. All programs that share locks must pass the same
// nodes, in any order. New does no I/O. If an argument is invalid, rowlock.New returns the error. If a server is not
// fit to be a node, the first operation returns an error that names the server.
//
// A server that is new, was restarted or has lost its keys does not vote for a little more than one MaxTTL. If too few
// servers can vote, Acquire is refused with the reason driver.Quarantine.
func New(nodes []*redis.Client, opts ...Option) *Backend {
	o := options{prefix: DefaultPrefix, maxTTL: DefaultMaxTTL}
	for _, opt := range opts {
		opt(&o)
	}
	r := &Backend{options: o, places: redisbase.NewPlaces(), err: o.validate(nodes)}
	if r.err == nil {
		for _, client := range nodes {
			r.nodes = append(r.nodes, newNode(client, o.prefix.Waiters()+r.places.ID.String()))
		}
	}
	return r
}

// Capabilities implements [driver.Backend]. If a waiter has found that an account may not SUBSCRIBE at a node, a
// warning names the node.
func (r *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "redlock", Token: driver.BestEffortToken, MaxTTL: r.options.maxTTL, Wakes: true, Invalid: r.err}
	for _, n := range r.nodes {
		if err := n.wakes.Refused(); err != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("node %s cannot notify waiters of a release: %v", n.addr, err))
		}
	}
	return c
}

// Close waits for background requests to slow servers. Each request ends at the node's time limit, as far as its client
// supports that. Later calls fail. Close the lockers before the backend, so that there are no waiters. Close the
// clients after the backend.
func (r *Backend) Close() error {
	r.closed.Store(true)
	r.crew.Wait(nil)
	return nil
}

// quorum returns how many nodes are a majority.
func (r *Backend) quorum() int { return len(r.nodes)/2 + 1 }

// number returns a number that is larger than all numbers that it returned before, larger than all tokens that nodes
// have reported, and not smaller than this process's clock in microseconds. So nodes will probably confirm it as a
// token.
func (r *Backend) number() int64 {
	for {
		last := r.newest.Load()
		next := max(time.Now().UnixMicro(), last+1)
		if r.newest.CompareAndSwap(last, next) {
			return next
		}
	}
}

// saw records a token, so that the method number returns larger numbers.
func (r *Backend) saw(token driver.Token) {
	for last := r.newest.Load(); int64(token) > last && !r.newest.CompareAndSwap(last, int64(token)); last = r.newest.Load() {
	}
}

var errClosed = errors.New("the backend is closed")

// begin counts a call in r.crew, so that Close waits for it. The call may then start goroutines with r.crew.Go, and
// ends with r.crew.Leave. begin fails if the backend is invalid or closed.
func (r *Backend) begin() error {
	if r.err != nil {
		return driver.Permanent(r.err)
	}
	r.crew.Enter()
	if r.closed.Load() {
		r.crew.Leave()
		return driver.Permanent(errClosed)
	}
	return nil
}
