package redlock

import (
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// rests records for which locks this process rests. It rests if a majority of the nodes has refused its last request to
// all nodes, would notify it of a release, and has not done so since.
type rests struct {
	mu    sync.Mutex
	byKey map[driver.Key]*rest
}

// rest begins with a request of a waiter to all nodes, and ends with the next notification.
type rest struct {
	listed bool // the nodes have the waiter in their sets
	polls  int
}

// begin is called before a request to all nodes.
func (r *rests) begin(key driver.Key) *rest {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := new(rest)
	r.byKey[key] = one
	return one
}

// list is called after the nodes have refused the request. It returns false if a notification has ended the rest
// meanwhile.
func (r *rests) list(key driver.Key, one *rest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.listed = true
	return r.byKey[key] == one
}

// poll returns the rest, and the number of polls before this one. It returns nil if this process does not rest.
func (r *rests) poll(key driver.Key) (one *rest, before int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one = r.byKey[key]; one == nil || !one.listed {
		return nil, 0
	}
	one.polls++
	return one, one.polls - 1
}

func (r *rests) end(key driver.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
}
