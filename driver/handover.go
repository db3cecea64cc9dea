package driver

import "context"

// HandOverer is implemented by a backend that can end a grant and make the next grant of the same key in one request. The engine
// uses this method if the holder and the first waiter are in the same process. The hand-over saves the second request, and the
// key is never free in between. The engine ignores this interface if the backend is also an [Awaiter] or a [Session].
type HandOverer interface {
	// HandOver ends from as Release does, and grants its key to r as Acquire does, with a larger token. Both
	// happen in one atomic step, or neither does. r.Key is from.Key, r.Nonce is not from.Nonce, and r.Seal is
	// empty. HandOver does not wait for other holders.
	//
	// It returns one of five results:
	//
	//   - A grant.
	//   - [ErrNotHeld] if from is not held, because it was released, ended or has expired. Then nothing is granted.
	//   - A [*Held] if from is held, but the store would not grant its key to r directly after a Release, or cannot tell without
	// waiting. For example, the minimum hold runs, or the store is in quarantine. Then from does not change,
	// and the engine releases it.
	//   - An error made by [NotApplied] or [Permanent], if the request had no effect.
	//   - Any other error. Then both steps may have happened, or may still happen while from is held.
	//
	// A request with the nonce of the current grant returns that grant, with its expiry counted anew, as
	// Acquire does. Then HandOver ignores from. The backend must not notify waiters.
	HandOver(ctx context.Context, from Grant, r Request) (Grant, error)
}
