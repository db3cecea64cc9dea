package redlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// turn is the position of one request in the order of this process's requests for a lock at one node. A request is sent
// only after all earlier requests have ended. Otherwise a request to a slow node could overtake an earlier one, so that
// a lease would remain there after its release.
type turn struct {
	node   *node
	key    driver.Key
	nonce  driver.Nonce
	before *turn         // nil if no earlier request is running
	over   chan struct{} // closed when this request and all earlier requests have ended
	asked  bool          // the request was sent
	left   bool          // the node may have a grant with this nonce; set before over is closed
}

// turn appends a request to the running requests for key at this node. Its goroutine must call end.
func (n *node) turn(key driver.Key, nonce driver.Nonce) *turn {
	t := &turn{node: n, key: key, nonce: nonce, over: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	t.before = n.turns[key]
	n.turns[key] = t
	return t
}

// wait waits until the earlier requests have ended. It returns false if ctx ends or stop is closed first.
func (t *turn) wait(ctx context.Context, stop <-chan struct{}) bool {
	if t.before == nil {
		return true
	}
	select {
	case <-t.before.over:
		return true
	case <-stop:
		return false
	case <-ctx.Done():
		return false
	}
}

// needless reports whether a release needs no request, because the acquire request before it left no grant. Call it
// after wait.
func (t *turn) needless() bool { return t.before != nil && t.before.nonce == t.nonce && !t.before.left }

// end ends the request. It waits for the earlier requests, because later requests must wait for them too.
func (t *turn) end() {
	if t.before != nil {
		<-t.before.over
		if !t.asked {
			t.left = t.before.nonce == t.nonce && t.before.left
		}
		t.before = nil // otherwise each turn would keep all earlier turns in memory
	}
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	close(t.over)
	if t.node.turns[t.key] == t {
		delete(t.node.turns, t.key)
	}
}
