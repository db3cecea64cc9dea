package redislock

// SubscribeAgain ends the time for which a refusal to subscribe is remembered.
func (b *Backend) SubscribeAgain() { b.wakes.ForgetRefusal() }

// Refused returns why the server refuses subscriptions of b.
func (b *Backend) Refused() error { return b.wakes.Refused() }

// Waiter returns the field of the lock's hash that has b's place in the queue.
func (b *Backend) Waiter() string { return "w:" + b.places.ID.String() }
