package locktest

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// keepsLostGrants refuses a repeated request, although its nonce holds the name. It also ignores a release without a
// token. So a grant whose reply was lost stays held.
type keepsLostGrants struct{ *memlock.Backend }

func (m keepsLostGrants) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return sameNonceRefused(m).Acquire(ctx, r)
}

func (m keepsLostGrants) Release(ctx context.Context, g driver.Grant) error {
	return needsToken(m).Release(ctx, g)
}

// batched is a correct backend with batches.
type batched struct{ *memlock.Backend }

func (m batched) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(requests)), make([]error, len(requests))
	for i, r := range requests {
		grants[i], errs[i] = m.Acquire(ctx, r)
	}
	return grants, errs
}

func (m batched) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	errs := make([]error, len(grants))
	for i, g := range grants {
		errs[i] = m.Release(ctx, g)
	}
	return errs
}

// batchOverlaps grants the names of a batch although others hold them.
type batchOverlaps struct{ batched }

func (m batchOverlaps) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	for _, r := range requests {
		if seen, err := m.Inspect(ctx, r.Key); err == nil && seen.State == driver.StateHeld {
			_ = m.ForceRelease(ctx, r.Key, seen.Token, true)
		}
	}
	return m.batched.AcquireEach(ctx, requests)
}

// batchMixesUp returns the grants of a batch in another order.
type batchMixesUp struct{ batched }

func (m batchMixesUp) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	grants, errs := m.batched.AcquireEach(ctx, requests)
	slices.Reverse(grants)
	return grants, errs
}

// batchForgets does not recognise a batch that is sent twice.
type batchForgets struct{ batched }

func (m batchForgets) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	for _, r := range requests {
		_ = m.Release(ctx, driver.Grant{Key: r.Key, Nonce: r.Nonce})
	}
	return m.batched.AcquireEach(ctx, requests)
}

// batchEndsAnything releases the names of a batch, although others hold them.
type batchEndsAnything struct{ batched }

func (m batchEndsAnything) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	for _, g := range grants {
		_ = m.ForceRelease(ctx, g.Key, g.Token, true)
	}
	return make([]error, len(grants))
}

// batchReleasesNothing reports a batch of releases, but makes none.
type batchReleasesNothing struct{ batched }

func (batchReleasesNothing) ReleaseEach(_ context.Context, grants []driver.Grant) []error {
	return make([]error, len(grants))
}

// batchPretends reports that a release in a batch ended a grant that does not exist.
type batchPretends struct{ batched }

func (m batchPretends) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	m.batched.ReleaseEach(ctx, grants)
	return make([]error, len(grants))
}
