package locktest

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// asOther sends an altered request, and reports the grant as if the original request had been sent.
func asOther(ctx context.Context, b *memlock.Backend, r driver.Request, alter func(*driver.Request)) (driver.Grant, error) {
	other := r
	alter(&other)
	g, err := b.Acquire(ctx, other)
	g.TTL, g.MinHold, g.HandoverDelay = r.TTL, r.MinHold, r.HandoverDelay
	return g, err
}

type halfTTL struct{ *memlock.Backend }

func (m halfTTL) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return asOther(ctx, m.Backend, r, func(r *driver.Request) { r.TTL /= 2 })
}

func (m halfTTL) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { g.TTL /= 2 }))
}

type tenfoldTTL struct{ *memlock.Backend }

func (m tenfoldTTL) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return asOther(ctx, m.Backend, r, func(r *driver.Request) { r.TTL *= 10 })
}

// neverShortens renews a grant for at least the duration steady.
type neverShortens struct{ *memlock.Backend }

func (m neverShortens) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { g.TTL = max(g.TTL, steady) }))
}

type immortal struct{ *memlock.Backend }

func (m immortal) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return asOther(ctx, m.Backend, r, func(r *driver.Request) { r.TTL = time.Hour })
}

type noMinimumHold struct{ *memlock.Backend }

func (m noMinimumHold) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return asOther(ctx, m.Backend, r, func(r *driver.Request) { r.MinHold = 0 })
}

func (m noMinimumHold) Release(ctx context.Context, g driver.Grant) error {
	g.MinHold = 0
	return m.Backend.Release(ctx, g)
}

type noHandOverDelay struct{ *memlock.Backend }

func (m noHandOverDelay) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return asOther(ctx, m.Backend, r, func(r *driver.Request) { r.HandoverDelay = 0 })
}

type delayAfterRelease struct{ *memlock.Backend }

func (m delayAfterRelease) Release(ctx context.Context, g driver.Grant) error {
	g.MinHold = g.HandoverDelay
	return m.Backend.Release(ctx, g)
}

func altered(grants []driver.Grant, alter func(*driver.Grant)) []driver.Grant {
	other := append([]driver.Grant(nil), grants...)
	for i := range other {
		alter(&other[i])
	}
	return other
}
