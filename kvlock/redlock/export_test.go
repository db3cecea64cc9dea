package redlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Settle waits until all background goroutines have ended. Call it while no other call is running.
func (r *Backend) Settle() { r.crew.Wait(nil) }

// AdmitNodes contacts the nodes, lets them vote again if their quarantine is over, and reports whether to vote again.
func (r *Backend) AdmitNodes() bool {
	r.crew.Enter()
	defer r.crew.Leave()
	r.contact(context.Background(), time.Minute)
	return r.admitNodes(context.Background(), time.Minute)
}

// SubscribeAgain makes r forget that nodes refused a subscription, so that r tries again at once.
func (r *Backend) SubscribeAgain() {
	for _, n := range r.nodes {
		n.wakes.ForgetRefusal()
	}
}

// Waiter returns the key of the set of waiters for a lock, and the member of this set that stands for r.
func (r *Backend) Waiter(key driver.Key) (waiters, member string) {
	return r.waiters(key), r.places.ID.String()
}
