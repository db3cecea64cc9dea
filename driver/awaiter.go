package driver

import "context"

// Awaiter is implemented by a backend whose store has its own queue of waiters. If a caller is ready to wait,
// the engine calls Await and never [Backend.Acquire].
type Awaiter interface {
	// Await acquires r.Key as [Backend.Acquire] does. If the key is held, Await calls the function wait with the
	// refusal, and then waits in the store's queue. After that call, Await uses the context that wait returned,
	// and no longer ctx. If that context ends before the grant, Await returns a [*Held]. If the store sends no reply
	// for r.TTL, Await returns an error that is not a [*Held]. Before Await returns, it removes its entry from the
	// store's queue.
	//
	// If Await needs a second request to learn the holder, it may call wait(nil) first, and later call the function
	// wait with the refusal. The two calls return the same context. A [*Held] that Await returns after a call of wait
	// need not name the holder. If joining the queue costs more than an attempt, for example a connection, Await first
	// makes an attempt without the queue. Await may skip this attempt if r.Waiting is set.
	//
	// Of all waiters for a key in one process, the engine calls Await only for the first. It may call Await several
	// times for one waiter. If the wait was long, the engine calls Renew to confirm the grant.
	Await(ctx context.Context, r Request, wait func(*Held) context.Context) (Grant, error)
}
