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

	mu    sync.Mutex
	runID string                         // once it has been found fit
	turns map[driver.Nonce]chan struct{} // closed when the last request so far is over
}

// newNode is a node that calls this process on the channel own.
func newNode(client *redis.Client, work *work, own string) *node {
	n := &node{client: client, work: work, addr: client.Options().Addr, turns: make(map[driver.Nonce]chan struct{})}
	n.wakes.client, n.wakes.own = client, own
	return n
}

// turn puts a request behind those that are under way for the same acquisitions at this node: none overtakes
// another. wait says whether the turn came before ctx ended; done must be called in any case.
func (n *node) turn(nonces ...driver.Nonce) (wait func(context.Context) bool, done func()) {
	mine := make(chan struct{})
	var before []<-chan struct{}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, nonce := range nonces {
		if last := n.turns[nonce]; last != nil {
			before = append(before, last)
		}
		n.turns[nonce] = mine
	}
	wait = func(ctx context.Context) bool {
		for _, last := range before {
			select {
			case <-last:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	over := func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		close(mine)
		for _, nonce := range nonces {
			if n.turns[nonce] == mine {
				delete(n.turns, nonce)
			}
		}
	}
	done = func() {
		if isOver(before) {
			over()
			return
		}
		n.work.run(func() { // a turn that was not waited for must not let the next one overtake either
			wait(context.Background())
			over()
		})
	}
	return wait, done
}

func isOver(turns []<-chan struct{}) bool {
	for _, t := range turns {
		select {
		case <-t:
		default:
			return false
		}
	}
	return true
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
