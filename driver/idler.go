package driver

import "context"

// Idler is implemented by a backend that keeps connections or goroutines for a while after their last use.
type Idler interface {
	// CloseIdle closes the connections and ends the goroutines that are not in use. It returns when they have ended,
	// or when ctx ends. Connections in use stay open, and the backend can be used afterwards.
	//
	// The engine calls CloseIdle at the end of Locker.Close.
	CloseIdle(ctx context.Context)
}
