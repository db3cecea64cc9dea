package locktest

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// pausesForAnHour keeps the nonce and turns the lease into a long lease. So a renewal by the former holder ends the pause.
type pausesForAnHour struct{ *memlock.Backend }

func (m pausesForAnHour) Pause(ctx context.Context, g driver.Grant, _ driver.Nonce) error {
	g.TTL = time.Hour
	outcomes, err := m.Renew(ctx, []driver.Grant{g})
	if err == nil && outcomes[0] != driver.Renewed {
		return driver.ErrNotHeld
	}
	return err
}

// pausesNothing reports a pause but makes none.
type pausesNothing struct{ *memlock.Backend }

func (pausesNothing) Pause(context.Context, driver.Grant, driver.Nonce) error { return nil }

// opensToPause frees the name and does not pause it.
type opensToPause struct{ *memlock.Backend }

func (m opensToPause) Pause(ctx context.Context, g driver.Grant, _ driver.Nonce) error {
	return m.Release(ctx, g)
}

// pausesOnce does not recognise a repeated request.
type pausesOnce struct{ *memlock.Backend }

func (m pausesOnce) Pause(ctx context.Context, g driver.Grant, _ driver.Nonce) error {
	return m.Backend.Pause(ctx, g, driver.NewNonce())
}

// endsPauses treats a pause as an expired lease.
type endsPauses struct{ *memlock.Backend }

func (m endsPauses) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	seen, err := m.Inspect(ctx, key)
	if err != nil {
		return err
	}
	return m.Backend.ForceRelease(ctx, key, token, live || seen.State == driver.StatePaused)
}
