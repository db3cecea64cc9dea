package redislock

import "time"

// Settle waits for what runs in the background, while no call does.
func (r *Redlock) Settle() { r.work.wait() }

// SubscribeAgain ends the time for which a refusal to subscribe is remembered.
func (b *Backend) SubscribeAgain() { b.wakes.subscribeAgain() }

// SubscribeAgain ends the time for which a refusal to subscribe is remembered, of each node.
func (r *Redlock) SubscribeAgain() {
	for _, n := range r.nodes {
		n.wakes.subscribeAgain()
	}
}

func (s *subscriber) subscribeAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusedUntil = time.Time{}
	s.change()
}

// Refused is why the server does not let b subscribe.
func (b *Backend) Refused() error { return b.wakes.refused() }

// Waiter is the field of the lock's hash in which b stands in the queue.
func (b *Backend) Waiter() string { return "w:" + b.places.id.String() }

// Waiter is the field of the lock's hash in which r stands in the queue of a node.
func (r *Redlock) Waiter() string { return "w:" + r.places.id.String() }
