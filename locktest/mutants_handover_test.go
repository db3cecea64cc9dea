package locktest

import (
	"context"
	"runtime"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// freesBetween hands over with two requests.
type freesBetween struct{ *memlock.Backend }

func (m freesBetween) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	if g, err := m.Backend.HandOver(ctx, driver.Grant{Key: from.Key, Nonce: r.Nonce, Token: -1}, r); err == nil {
		return g, nil // this is a repeated request
	}
	if err := m.Release(ctx, from); err != nil {
		return driver.Grant{}, err
	}
	for range 100 {
		runtime.Gosched()
	}
	return m.Acquire(ctx, r)
}

// handsNothing reports a hand-over but makes none.
type handsNothing struct{ *memlock.Backend }

func (m handsNothing) HandOver(_ context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: from.Token + 1, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
	}, nil
}

// handsTheToken gives the next holder the token of the previous one.
type handsTheToken struct{ *memlock.Backend }

func (m handsTheToken) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.HandOver(ctx, from, r)
	g.Token = from.Token
	return g, err
}

// handsAnything does not check which grant it ends.
type handsAnything struct{ *memlock.Backend }

func (m handsAnything) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	if seen, err := m.Inspect(ctx, from.Key); err == nil && seen.State == driver.StateHeld {
		_ = m.ForceRelease(ctx, from.Key, seen.Token, true)
	}
	return m.Acquire(ctx, r)
}

// handsExpired checks which grant it ends, but not whether that grant has expired.
type handsExpired struct{ *memlock.Backend }

func (m handsExpired) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	seen, err := m.Inspect(ctx, from.Key)
	if err == nil && seen.State != driver.StateHeld && seen.Token == from.Token && m.Release(ctx, from) == nil {
		return m.Acquire(ctx, r)
	}
	return m.Backend.HandOver(ctx, from, r)
}

// handsOnce does not recognise a repeated request.
type handsOnce struct{ *memlock.Backend }

func (m handsOnce) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	if outcomes, err := m.Renew(ctx, []driver.Grant{from}); err != nil || outcomes[0] != driver.Renewed {
		return driver.Grant{}, driver.ErrNotHeld
	}
	return m.Backend.HandOver(ctx, from, r)
}

// handsNoAnew answers a repeated request without extending the grant.
type handsNoAnew struct{ *memlock.Backend }

func (m handsNoAnew) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	r.TTL = steady
	return m.Backend.HandOver(ctx, from, r)
}

// handsMinimumHold hands over during a minimum hold.
type handsMinimumHold struct{ *memlock.Backend }

func (m handsMinimumHold) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	from.MinHold = 0
	return m.Backend.HandOver(ctx, from, r)
}
