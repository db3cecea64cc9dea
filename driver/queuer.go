package driver

import "context"

// Queuer is implemented by a backend whose store keeps waiters in a queue of its own, where a place costs more
// than a try: a connection, say. Where it does not, the backend is an [Enterer] instead.
type Queuer interface {
	// AcquireQueued is Acquire, but for that it may wait in the store's queue: until ctx ends, or for
	// as long as one of the store's waits is to be. It returns a [*Held] when it was not granted
	// until then, which may name nobody if r.Waiting is set and the wait was short. It gives up with another error when it has not heard from the store for r.TTL.
	//
	// The engine calls it after a refusal, its own or that of who waited before it in the process, for
	// the first waiter of a process only, and again and again; it proves a grant with Renew when the
	// wait was long.
	AcquireQueued(ctx context.Context, r Request) (Grant, error)
}
