package driver

import "context"

// Batcher is implemented by a backend that can send several requests in one round trip. The engine uses it to acquire
// several keys, and to release their grants. The keys of one call have one namespace, and different names in ascending
// order. If every transaction locks its keys in this order, the transactions do not deadlock. In both methods, the error
// at an index is the outcome of the request or grant at that index.
//
// A backend needs no second attempt or repair for a batch. The engine sends a request of unknown outcome, or one that
// was not applied, again on its own. So for a request that needs special treatment, the backend can return an error
// made by [NotApplied].
type Batcher interface {
	// AcquireEach makes the attempt of [Backend.Acquire] for each request. If the store refuses a request, the backend
	// may either grant the other requests or return an error made by [NotApplied] for them.
	AcquireEach(ctx context.Context, requests []Request) ([]Grant, []error)

	// ReleaseEach makes the attempt of [Backend.Release] for each grant.
	ReleaseEach(ctx context.Context, grants []Grant) []error
}
