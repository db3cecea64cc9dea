package driver

import "context"

// Notifier is implemented by a backend that can notify a waiter when a key may be free.
type Notifier interface {
	// Notify calls wake whenever key may have become free, from the return of Notify until stop is called.
	// wake never blocks. ctx limits only the subscribing. After stop has returned, the store no longer
	// reserves key for this subscriber. stop waits for that, a second at most.
	//
	// A notification is a hint: it may be late, doubled or lost. The engine subscribes, retries once, then
	// waits, and still polls now and then.
	Notify(ctx context.Context, key Key, wake func()) (stop func(), err error)
}
