package redlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// turn is the place of a request among those of this process for the same locks at one node. None overtakes another: what is over
// would come to a node that lags after what followed, and be in its way.
type turn struct {
	node   *node
	keys   []driver.Key
	before []*turn
	over   chan struct{}

	asks  driver.Nonce // of a request that asks for the lock
	asked bool         // it was sent
}

// turn puts a request behind those that are under way for the same locks at this node. done must be called in any case.
func (n *node) turn(keys ...driver.Key) *turn {
	t := &turn{node: n, keys: keys, over: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		if last := n.turns[key]; last != nil {
			t.before = append(t.before, last)
		}
		n.turns[key] = t
	}
	return t
}

// wait says whether the turn came before ctx ended.
func (t *turn) wait(ctx context.Context) bool {
	for _, b := range t.before {
		select {
		case <-b.over:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// came says whether wait would not have to.
func (t *turn) came() bool {
	for _, b := range t.before {
		select {
		case <-b.over:
		default:
			return false
		}
	}
	return true
}

// needless says whether there is nothing to end, once the turn came: the request before it asks for the acquisition, and was not sent.
// A ballot that fails gives back by itself what it was granted.
func (t *turn) needless(nonce driver.Nonce) bool {
	return len(t.before) == 1 && t.before[0].asks == nonce && !t.before[0].asked
}

func (t *turn) done() {
	if t.came() {
		t.end()
		return
	}
	t.node.work.run(func() { // a turn that was not waited for must not let the next one overtake either
		t.wait(context.Background())
		t.end()
	})
}

func (t *turn) end() {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	t.before = nil // or each would keep all that were before it
	close(t.over)
	for _, key := range t.keys {
		if t.node.turns[key] == t {
			delete(t.node.turns, key)
		}
	}
}

// ends says that a request which ends the acquisition has its turn or waits for it, until done is called: what was to ask for it and
// has not been sent need not be.
func (n *node) ends(nonce driver.Nonce) (done func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ending[nonce]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.ending[nonce]--; n.ending[nonce] == 0 {
			delete(n.ending, nonce)
		}
	}
}

func (n *node) isEnding(nonce driver.Nonce) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ending[nonce] > 0
}
