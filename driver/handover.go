package driver

import "context"

// HandOverer is implemented by a backend that can end a grant and make the next grant of the same key in one request.
// The engine calls HandOver if the holder and the first waiter are in the same process. A hand-over saves one request,
// and the key is never free between the two grants. After 16 hand-overs in a row the engine calls Release, so that
// other processes can acquire the key. The backend should then keep the key for the process that has waited longest.
// Otherwise the next waiter of the same process often acquires it first. The engine ignores this interface if the
// backend is also an [Awaiter].
type HandOverer interface {
	// HandOver ends the grant in the parameter from, as Release does. It then grants the same key to the request r, as
	// Acquire does, with a larger token. The two changes are one atomic step. r.Key is from.Key, r.Nonce is not
	// from.Nonce, and r.Seal is empty. HandOver does not wait for other holders.
	//
	// HandOver returns one of five results:
	//
	//   - A grant.
	//   - [ErrNotHeld] if the old grant was released, was ended by an operator, or has expired. Then nothing is
	//     granted.
	//   - A [*Held] if the old grant still exists, but r would be refused even after its release. For example, the
	//     minimum hold is not over, or the store is in quarantine. HandOver also returns a [*Held] if it would have to
	//     wait to learn whether r can be granted. In both cases the old grant does not change, and the engine releases
	//     it.
	//   - An error made by [NotApplied] or [Permanent], if the request had no effect.
	//   - Any other error. Then the hand-over may have happened, or may still happen for as long as the old grant
	//     exists.
	//
	// If r.Nonce is the nonce of the current grant, HandOver does not look at the old grant. It returns the current
	// grant and starts its TTL again, as Acquire does. The backend must not notify waiters of a hand-over.
	HandOver(ctx context.Context, from Grant, r Request) (Grant, error)
}
