package driver

import "context"

// Idler is implemented by a backend that keeps something for a while after its last use: a connection, a goroutine.
type Idler interface {
	// CloseIdle ends at once what is kept for nobody, and returns when it has ended, or with ctx. What is in use
	// stays, and the backend can be used again.
	//
	// The engine calls it at the end of Close.
	CloseIdle(ctx context.Context)
}
