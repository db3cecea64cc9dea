package redislock

// SubscribeAgain ends the time for which a refusal to subscribe is remembered.
func (b *Backend) SubscribeAgain() { b.wakes.ForgetRefusal() }

// Refused is why the server does not let b subscribe.
func (b *Backend) Refused() error { return b.wakes.Refused() }

// Waiter is the field of the lock's hash in which b stands in the queue.
func (b *Backend) Waiter() string { return "w:" + b.places.ID.String() }
