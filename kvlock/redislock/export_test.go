package redislock

// SubscribeAgain makes b forget that the server refused a subscription, so that b tries again at once.
func (b *Backend) SubscribeAgain() { b.wakes.ForgetRefusal() }

// Refused returns the error with which the server refused a subscription of b.
func (b *Backend) Refused() error { return b.wakes.Refused() }

// Waiter returns the id of b as a waiter.
func (b *Backend) Waiter() string { return b.places.ID.String() }
