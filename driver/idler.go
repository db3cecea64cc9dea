package driver

import "context"

// Idler is implemented by a backend that keeps a resource for a while after its last use, such as a
// connection or a goroutine.
type Idler interface {
	// CloseIdle closes the resources that are not in use. It returns when these resources are closed, or when ctx ends. Resources
	// in use stay open, and the backend can be used afterwards.
	//
	// The engine calls CloseIdle at the end of Close.
	CloseIdle(ctx context.Context)
}
