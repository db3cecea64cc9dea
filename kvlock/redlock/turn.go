package redlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// turn orders the requests of this process for the same locks at one node. No request overtakes an earlier one, because
// at a slow node an obsolete request could arrive after later ones and block them.
type turn struct {
	node   *node
	keys   []driver.Key
	before []*turn
	over   chan struct{}

	asks  driver.Nonce // nonce of the request, if it requests the lock
	asked bool         // the request was sent
}

// turn appends a request to the running ones for the same locks at this node. done must be called in any case.
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

// wait waits for the earlier requests. It returns false if ctx ended first.
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

// came reports whether no earlier request is running.
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

// needless reports whether there is nothing to release, after the earlier requests have ended: the only earlier one was
// the request of this acquisition, and it was not sent. (A failed ballot undoes its own grants.)
func (t *turn) needless(nonce driver.Nonce) bool {
	return len(t.before) == 1 && t.before[0].asks == nonce && !t.before[0].asked
}

func (t *turn) done() {
	if t.came() {
		t.end()
		return
	}
	t.node.work.run(func() { // even after a turn without a wait, the next request must not overtake the earlier ones
		t.wait(context.Background())
		t.end()
	})
}

func (t *turn) end() {
	t.node.mu.Lock()
	defer t.node.mu.Unlock()
	t.before = nil // otherwise each turn would keep all earlier ones in memory
	close(t.over)
	for _, key := range t.keys {
		if t.node.turns[key] == t {
			delete(t.node.turns, key)
		}
	}
}

// ends records, until done is called, that a release of the acquisition runs or waits. Requests of the acquisition that
// were not sent yet are then not sent.
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
