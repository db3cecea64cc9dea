package driver

import "context"

// Notifier is implemented by a backend that can notify a waiter when a key may be free.
type Notifier interface {
	// Notify subscribes to the releases of key. After it has returned, and until stop is called, the backend calls the
	// function wake whenever key may have become free. The engine's function wake never blocks. ctx limits only the
	// call of Notify. The function stop ends the subscription and any reservation of key that the store keeps for this
	// subscriber. The call of stop waits for the store's reply, but at most one second.
	//
	// A notification may be late, sent twice or lost. So the engine retries once after it has subscribed,
	// and still polls while it waits. It polls seldom if the last refusal had [Held.Listed] set.
	Notify(ctx context.Context, key Key, wake func()) (stop func(), err error)
}
