package locktest

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// renewsIf renews the grants. If a lease is lost and its name has the given state, renewsIf grants the lease again.
func renewsIf(ctx context.Context, b *memlock.Backend, grants []driver.Grant, state driver.State) ([]driver.Outcome, error) {
	outcomes, err := b.Renew(ctx, grants)
	for i, o := range outcomes {
		g := grants[i]
		if seen, _ := b.Inspect(ctx, g.Key); o == driver.Lost && seen.State == state {
			if _, err := b.Acquire(ctx, driver.Request{Key: g.Key, Nonce: g.Nonce, TTL: g.TTL}); err == nil {
				outcomes[i] = driver.Renewed
			}
		}
	}
	return outcomes, err
}

type renewsExpired struct{ *memlock.Backend }

func (m renewsExpired) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return renewsIf(ctx, m.Backend, grants, driver.StateExpired)
}

type renewsFree struct{ *memlock.Backend }

func (m renewsFree) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return renewsIf(ctx, m.Backend, grants, driver.StateFree)
}

type renewsAnyToken struct{ *memlock.Backend }

func (m renewsAnyToken) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { g.Token = 0 }))
}

type renewsNothing struct{ *memlock.Backend }

func (m renewsNothing) Renew(_ context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return slices.Repeat([]driver.Outcome{driver.Renewed}, len(grants)), nil
}

type renewsFirst struct{ *memlock.Backend }

func (m renewsFirst) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := m.Backend.Renew(ctx, grants[:1])
	return slices.Repeat(outcomes, len(grants)), err
}

type renewsFifty struct{ *memlock.Backend }

func (m renewsFifty) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Backend.Renew(ctx, grants[:min(50, len(grants))])
}

type renewsAllOrNone struct{ *memlock.Backend }

func (m renewsAllOrNone) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	runtime.Gosched() // lets a release that has begun continue
	outcomes, err := m.Backend.Renew(ctx, grants)
	if slices.Contains(outcomes, driver.Lost) {
		for i, g := range grants {
			_ = m.Backend.Release(ctx, g)
			outcomes[i] = driver.Lost
		}
	}
	return outcomes, err
}

type renewsReversed struct{ *memlock.Backend }

func (m renewsReversed) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := m.Backend.Renew(ctx, grants)
	slices.Reverse(outcomes)
	return outcomes, err
}

// renewsOnce treats a repeated renewal as a renewal by another client.
type renewsOnce struct {
	*memlock.Backend
	mu   sync.Mutex
	seen map[driver.Nonce]bool
}

func newRenewsOnce(b *memlock.Backend) inprocess.Memory {
	return &renewsOnce{Backend: b, seen: make(map[driver.Nonce]bool)}
}

func (m *renewsOnce) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcomes, err := m.Backend.Renew(ctx, grants)
	for i, g := range grants {
		if err == nil && m.seen[g.Nonce] {
			outcomes[i] = driver.Lost
		}
		m.seen[g.Nonce] = true
	}
	return outcomes, err
}

// nonceless replaces the caller's nonce by the nonce of the current holder.
type nonceless struct {
	*memlock.Backend
	renews, releases bool

	mu      sync.Mutex
	present map[driver.Key]driver.Nonce
}

func newNonceless(renews, releases bool) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		return &nonceless{Backend: b, renews: renews, releases: releases, present: make(map[driver.Key]driver.Nonce)}
	}
}

func (m *nonceless) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.Backend.Acquire(ctx, r)
	if err == nil {
		m.present[r.Key] = r.Nonce
	}
	return g, err
}

func (m *nonceless) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.renews {
		grants = altered(grants, func(g *driver.Grant) { g.Nonce = m.present[g.Key] })
	}
	return m.Backend.Renew(ctx, grants)
}

func (m *nonceless) Release(ctx context.Context, g driver.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.releases {
		g.Nonce = m.present[g.Key]
	}
	return m.Backend.Release(ctx, g)
}
