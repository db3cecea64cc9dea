package redlock

// Settle waits for what runs in the background, while no call does.
func (r *Backend) Settle() { r.work.wait() }

// SubscribeAgain ends the time for which a refusal to subscribe is remembered, of each node.
func (r *Backend) SubscribeAgain() {
	for _, n := range r.nodes {
		n.wakes.ForgetRefusal()
	}
}

// Waiter is the field of the lock's hash in which r stands in the queue of a node.
func (r *Backend) Waiter() string { return "w:" + r.places.ID.String() }
