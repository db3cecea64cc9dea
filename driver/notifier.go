package driver

import "context"

// Notifier is implemented by a backend that can tell when a key may have become free.
type Notifier interface {
	// Notify calls wake, which never blocks, whenever key may have become free, from the moment
	// Notify returns until stop is called. ctx bounds the subscribing only. Once stop has returned, the store
	// reserves key for this subscriber no more; stop waits for that, a second at most.
	//
	// A wake-up is a hint: it may be late, doubled or lost. The engine subscribes first, then asks
	// again, then waits, and keeps polling behind it.
	Notify(ctx context.Context, key Key, wake func()) (stop func(), err error)
}
