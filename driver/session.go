package driver

import "context"

// Session is implemented by a backend whose grants end with a connection and not by the store's clock. The
// TTL then limits only how long a holder trusts its lease after its connection was last confirmed, which
// Renew does. The store does not end such a grant with the TTL, so the engine calls Release after the trust
// has ended.
type Session interface {
	// Session returns a context that ends when the backend knows that g's connection is gone or no longer belongs to g. The cause
	// of the context says why. For an unknown grant, Session returns a context that has already ended. Session does no I/O.
	Session(g Grant) context.Context
}
