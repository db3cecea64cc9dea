package driver

import "context"

// Enterer is implemented by a backend whose store takes a request into its queue for no more than it takes to
// try: what is free is granted at once, and who has to wait has not been refused before. The engine then
// makes every request of who is ready to wait in this way, and not by [Backend.Acquire].
type Enterer interface {
	// Enter is Acquire, until it finds that somebody is in the way. Then it has a place in the store's queue,
	// calls wait with who that is, and waits for as long as the context lasts that wait returns, which
	// takes the place of ctx. It returns a [*Held] when it was not granted until then, and gives up with another
	// error when it has not heard from the store for r.TTL; it leaves the queue before it returns.
	//
	// Where it takes another request to learn who is in the way, it may call wait with nil, and once more when
	// the wait has lasted for longer than a hand-over takes, or ends: wait returns the same context again.
	//
	// The engine calls it for the first waiter of a process only, and again and again; it proves a grant
	// with Renew when the wait was long.
	Enter(ctx context.Context, r Request, wait func(*Held) context.Context) (Grant, error)
}
