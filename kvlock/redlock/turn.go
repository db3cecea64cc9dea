package redlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// turn is the position of one request in the order of this process's requests for the same locks at one node. A request
// is sent only after all earlier requests have ended. Otherwise, an obsolete request could arrive at a slow node after
// later requests, and block them.
type turn struct {
	node   *node
	keys   []driver.Key
	before []*turn
	over   chan struct{}

	asks  driver.Nonce // nonce of the request, if the request acquires the lock
	asked bool         // whether that request was sent
}

// turn appends a request to the running requests for the same locks at this node. The caller must call done in any
// case.
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

// wait waits until the earlier requests have ended. It returns false if ctx ends first.
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

// came reports, without waiting, whether all earlier requests have ended.
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

// needless is called after the earlier requests have ended. It reports whether there is nothing to release. That is
// true if the only earlier request was the acquire request of this acquisition, and was not sent. Grants of earlier
// ballots need no release here, because each failed ballot undoes its own grants.
func (t *turn) needless(nonce driver.Nonce) bool {
	return len(t.before) == 1 && t.before[0].asks == nonce && !t.before[0].asked
}

func (t *turn) done() {
	if t.came() {
		t.end()
		return
	}
	t.node.work.run(func() { // this request ends before the earlier requests, but the next request must still wait for them
		t.wait(context.Background())
		t.end()
	})
}

func (t *turn) end() {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	t.before = nil // otherwise each turn would keep all earlier turns in memory
	close(t.over)
	for _, key := range t.keys {
		if t.node.turns[key] == t {
			delete(t.node.turns, key)
		}
	}
}

// ends records that a release of the acquisition runs or waits, until the caller calls the function done. Until then,
// no further acquire request of the acquisition is sent to the node.
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
