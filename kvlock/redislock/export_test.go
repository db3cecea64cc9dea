package redislock

import "github.com/rowlock/rowlock/kvlock/internal/redisbase"

// Times returns the times of b's subscription. A test may change them before b waits for the first time.
func (b *Backend) Times() *redisbase.Times { return &b.wakes.Times }

// SubscribeAgain makes b forget that the server refused a subscription, so that b tries again at once.
func (b *Backend) SubscribeAgain() { b.wakes.ForgetRefusal() }

// Refused returns the error with which the server refused a subscription of b.
func (b *Backend) Refused() error { return b.wakes.Refused() }

// Waiter returns the id of b as a waiter.
func (b *Backend) Waiter() string { return b.places.ID.String() }
