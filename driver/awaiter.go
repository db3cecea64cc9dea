package driver

import "context"

// Awaiter is implemented by a backend whose store has its own queue of waiters. For a caller that is ready to
// wait, the engine then calls Await and never [Backend.Acquire].
type Awaiter interface {
	// Await acquires r.Key as [Backend.Acquire] does. If the key is held, Await calls wait with the refusal,
	// and then waits in the store's queue. From then on the context that wait returned replaces ctx. If that
	// context ends before the grant, Await returns a [*Held]. If the store has not replied for r.TTL, Await
	// returns another error. Await leaves the queue before it returns.
	//
	// If a second request is needed to learn the holder, Await may call wait(nil) first, and wait again with
	// the refusal. Both calls return the same context. After a call of wait, the returned [*Held] need not
	// name the holder. If joining the queue costs more than one attempt, for example a connection, Await
	// makes an attempt first. It need not if r.Waiting reports an earlier refusal.
	//
	// The engine calls Await only for the first waiter of a process, and calls it repeatedly. If the wait was
	// long, the engine confirms the grant with Renew.
	Await(ctx context.Context, r Request, wait func(*Held) context.Context) (Grant, error)
}
