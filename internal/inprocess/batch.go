package inprocess

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/driver"
)

// batcher sends the requests of a batch to a store one after the other.
type batcher struct{ Store }

func (b batcher) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(requests)), make([]error, len(requests))
	for i, r := range requests {
		grants[i], errs[i] = b.Acquire(ctx, r)
	}
	return grants, errs
}

func (b batcher) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	errs := make([]error, len(grants))
	for i, g := range grants {
		errs[i] = b.Release(ctx, g)
	}
	return errs
}

// batcher returns the store as a driver.Batcher.
func (c *client) batcher() driver.Batcher {
	if b, ok := c.Store.(driver.Batcher); ok {
		return b
	}
	return batcher{c.Store}
}

// AcquireEach implements driver.Batcher.
func (c *client) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	var errs []error
	grants, err := carry(ctx, c, func() (grants []driver.Grant, _ error) {
		grants, errs = c.batcher().AcquireEach(ctx, requests)
		return grants, nil
	})
	if err != nil {
		return make([]driver.Grant, len(requests)), slices.Repeat([]error{err}, len(requests))
	}
	return grants, errs
}

// ReleaseEach implements driver.Batcher.
func (c *client) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	errs, err := carry(ctx, c, func() ([]error, error) { return c.batcher().ReleaseEach(ctx, grants), nil })
	if err != nil {
		return slices.Repeat([]error{err}, len(grants))
	}
	return errs
}
