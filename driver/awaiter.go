package driver

import "context"

// Awaiter is implemented by a backend whose store keeps the waiters in a queue of its own. The engine then makes every
// request of a caller that is ready to wait in this way, and not by [Backend.Acquire].
type Awaiter interface {
	// Await is Acquire until it finds that somebody is in the way. Then it calls wait with who that is, and waits in the
	// store's queue for as long as the context lasts that wait returns, which takes the place of ctx. It returns a
	// [*Held] when it was not granted until then, and gives up with another error when it has not heard from the store
	// for r.TTL. It leaves the queue before it returns.
	//
	// Where it takes another request to learn who is in the way, it may call wait with nil, and once more when
	// it knows: wait returns the same context again. The [*Held] that Await returns may name nobody if wait was called.
	// Where a place in the queue costs more than a try, such as a connection, it tries first, unless r.Waiting says
	// that there was a refusal already.
	//
	// The engine calls it for the first waiter of a process only, and again and again. It proves a grant with Renew
	// when the wait was long.
	Await(ctx context.Context, r Request, wait func(*Held) context.Context) (Grant, error)
}
