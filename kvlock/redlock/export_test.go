package redlock

import "github.com/rowlock/rowlock/driver"

// Settle waits for the goroutines in the background, when no call is running.
func (r *Backend) Settle() { r.work.wait() }

// SubscribeAgain ends the time for which each node's refusal to subscribe is remembered.
func (r *Backend) SubscribeAgain() {
	for _, n := range r.nodes {
		n.wakes.ForgetRefusal()
	}
}

// Waiter returns the key of the set of waiters for key, and r's member of it.
func (r *Backend) Waiter(key driver.Key) (waiters, member string) {
	return r.waiters(key), r.places.ID.String()
}
