package driver

import "context"

// Awaiter is implemented by a backend whose store has its own queue of waiters. If a caller is ready to wait,
// the engine calls Await and never [Backend.Acquire].
type Awaiter interface {
	// Await acquires r.Key as [Backend.Acquire] does. If the key is held, Await calls the function wait with a [*Held]
	// that describes the holder. It then waits in the store's queue. From then on, Await uses the context that the
	// function wait returned, and no longer ctx. If that context ends before the grant, Await returns a [*Held]. If the
	// store sends no reply for r.TTL, Await returns an error that is not a [*Held]. Before Await returns, it removes
	// its entry from the store's queue.
	//
	// If Await needs a second request to learn the holder, it may call wait(nil) first. It then calls the function wait
	// again with the [*Held]. The two calls return the same context. After Await has called wait, it may return a
	// [*Held] that does not name the holder. Joining the queue may cost more than an attempt: for example, it may need
	// a further connection. On such a store, Await first makes an attempt without the queue. Await may skip this
	// attempt if r.Waiting is set.
	//
	// Several callers in one process may wait for the same key. The engine calls Await only for the first of them. It
	// may call Await several times for one waiter. If the wait was long, the engine calls Renew to confirm the grant.
	Await(ctx context.Context, r Request, wait func(*Held) context.Context) (Grant, error)
}
