package driver

import "context"

// Session is implemented by a backend whose grants end with a connection and not by the store's
// clock: then a TTL is only how long a holder is trusted after the last proof that its connection
// lives, which Renew brings. What such a grant leaves behind the engine gives back with Release when
// trust has ended, because the store does not.
type Session interface {
	// Session returns a context that ends as soon as the backend knows that the connection that g
	// lives on is gone, or g no longer its own; the cause says why. Of a grant that it does not know
	// it is a context that has ended. It does no I/O.
	Session(g Grant) context.Context
}
