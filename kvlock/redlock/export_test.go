package redlock

import "github.com/rowlock/rowlock/driver"

// Settle waits for what runs in the background, while no call does.
func (r *Backend) Settle() { r.work.wait() }

// SubscribeAgain ends the time for which a refusal to subscribe is remembered, of each node.
func (r *Backend) SubscribeAgain() {
	for _, n := range r.nodes {
		n.wakes.ForgetRefusal()
	}
}

// Waiter is the member as which r stands in the set of those who wait for key.
func (r *Backend) Waiter(key driver.Key) (waiters, member string) {
	return r.waiters(key), r.places.ID.String()
}
