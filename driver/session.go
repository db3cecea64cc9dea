package driver

import "context"

// Session is implemented by a backend whose grants end with a connection and not by the store's clock.
// Renew confirms that the connection still exists. A holder trusts its lease for the TTL, less a margin,
// after the last such confirmation. The store does not end such a grant when the TTL is over, so the engine calls
// Release after the trust has ended.
type Session interface {
	// Session returns a context that ends when the backend knows that g's connection is gone or no longer belongs to g.
	// The cause of the context says why. For a grant that the backend does not know, Session returns a context that has
	// already ended. Session does no I/O.
	Session(g Grant) context.Context
}
