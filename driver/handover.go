package driver

import "context"

// HandOverer is implemented by a backend that can end a grant and make the next one of the same key in one
// request. The engine asks for it when the holder and the first who waits are in one process: it saves the
// second request, and the key is never free in between. The engine ignores it on an [Awaiter] and on a [Session].
type HandOverer interface {
	// HandOver ends from, as Release does, and grants its key to r, as Acquire does, with a larger token. r.Key
	// is from.Key, r.Nonce is not from.Nonce, and r.Seal is empty. Both happen in one step of the store, or
	// neither does. It waits for nobody.
	//
	// It answers one of five things: a grant; [ErrNotHeld] when from is not held any more, because it was ended,
	// taken over or has expired, and then nothing is granted; a [*Held] when from is held and the store would
	// not grant its key to r at once after a Release (its minimum hold runs, the store is in quarantine) or
	// cannot tell without waiting: then from stays as it is, and is to be released; an error made by [NotApplied] or
	// [Permanent], when the request certainly had no effect; or any other error, after which both may have
	// happened, or may yet for as long as from is held.
	//
	// A request that carries the nonce of the present grant gets that same grant again, with its expiry counted
	// anew, as Acquire gives it; from is not looked at then. A backend tells nobody that the key is free.
	HandOver(ctx context.Context, from Grant, r Request) (Grant, error)
}
