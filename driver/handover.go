package driver

import "context"

// HandOverer is implemented by a backend that can end a grant and make the next one in one request, when both are
// in one process. The name is never free in between.
type HandOverer interface {
	// HandOver ends from, as Release does, and grants from.Key to r, as Acquire does, with a new token. Both happen or
	// neither. It answers a grant; [ErrNotHeld] if from is not held any more, and then grants nothing; a [*Held] if
	// the store wants the key to go another way (a minimum hold is not over): from is still held, and is to be released. Any other
	// error is as of Acquire. Sent again with the same nonce it answers the same grant.
	HandOver(ctx context.Context, from Grant, r Request) (Grant, error)
}
