package redlock

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Backend keeps locks in a majority of independent Redis servers, after the algorithm of that name
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). It is safe for concurrent use. The
// clients stay the caller's to close; [Backend.Close] comes before.
//
// What it is for is that locks can be had while a minority of the servers is gone. It is not safer than
// a lease row or one Redis: see docs/redlock.md.
//
// A token is confirmed by a majority in a second round before a grant is one, and each server confirms
// rising tokens only. So tokens rise as long as no majority forgets within one MaxTTL; they are best effort, for when it does.
// Guard rows of a SQL database with fence.Claim, whose tokens the database makes itself.
type Backend struct {
	nodes   []*node
	options options
	places  *redisbase.Places
	err     error // why it cannot work

	work     work
	ballots  atomic.Int64 // numbered so far
	largest  atomic.Int64 // token that any node has told of
	met      atomic.Bool  // every node has been looked at, or has had its time
	visiting atomic.Bool
	visited  atomic.Pointer[time.Time] // when the last visit ended; nil before it
	meeting  sync.Mutex                // while run ids are compared
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Notifier = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// pkg is how errors begin.
const pkg = "redlock"

// New keeps locks in a majority of nodes, of which there must be an odd number, three at least: each
// a client of one server, independent of the others. All who share locks name the same nodes, in any order. It does no
// I/O. What cannot work is an error of rowlock.New; a server that is not fit is one of the first call, and names it.
//
// Servers that are new, were started again or have lost their keys vote only after one MaxTTL; until then calls
// are refused with the reason driver.Quarantine.
func New(nodes []*redis.Client, opts ...Option) *Backend {
	o := options{prefix: DefaultPrefix, maxTTL: DefaultMaxTTL}
	for _, opt := range opts {
		opt(&o)
	}
	r := &Backend{options: o, places: redisbase.NewPlaces(), err: o.validate(nodes)}
	if r.err == nil {
		for _, client := range nodes {
			r.nodes = append(r.nodes, newNode(client, &r.work, o.prefix.Waiters()+r.places.ID.String()))
		}
	}
	return r
}

// Capabilities implements [driver.Backend]. A warning names each node whose account may not SUBSCRIBE, once a waiter has found out.
func (r *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "redlock", Token: driver.BestEffortToken, MaxTTL: r.options.maxTTL, Wakes: true, Invalid: r.err}
	for _, n := range r.nodes {
		if err := n.wakes.Refused(); err != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("node %s notifies nobody of a release: %v", n.addr, err))
		}
	}
	return c
}

// Close waits for what is still being told to slow servers, which the limit of a node bounds as far as its
// client heeds it. Calls afterwards fail. Close the locker before, so that nobody waits any more, and the clients after.
func (r *Backend) Close() error {
	r.work.close()
	return nil
}

// quorum is how many nodes are a majority.
func (r *Backend) quorum() int { return len(r.nodes)/2 + 1 }

var errClosed = errors.New("the Redlock is closed")

// begin counts a call, in which goroutines may be started with r.work. It ends with r.work.done.
func (r *Backend) begin() error {
	if r.err != nil {
		return driver.Permanent(r.err)
	}
	if !r.work.begin() {
		return driver.Permanent(errClosed)
	}
	return nil
}
