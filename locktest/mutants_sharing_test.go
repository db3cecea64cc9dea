package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// refusedBy returns the refusal in err, or nil.
func refusedBy(err error) *driver.Held {
	var held *driver.Held
	errors.As(err, &held)
	return held
}

// sharesAlways grants a share beside a writer.
type sharesAlways struct{ *memlock.Backend }

func (m sharesAlways) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	if held := refusedBy(err); r.Shared && held != nil && held.Readers == 0 {
		return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: held.Token, TTL: r.TTL, Shared: true}, nil
	}
	return g, err
}

// writesAlways grants a writer the name beside readers.
type writesAlways struct{ *memlock.Backend }

func (m writesAlways) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	if held := refusedBy(err); !r.Shared && held != nil && held.Readers > 0 {
		return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: held.Token + 1, TTL: r.TTL}, nil
	}
	return g, err
}

// sharesAlone grants a share as an exclusive grant.
type sharesAlone struct{ *memlock.Backend }

func (m sharesAlone) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	shared := r.Shared
	r.Shared = false
	g, err := m.Backend.Acquire(ctx, r)
	g.Shared = shared && err == nil
	return g, err
}

func (m sharesAlone) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { g.Shared = false }))
}

func (m sharesAlone) Release(ctx context.Context, g driver.Grant) error {
	g.Shared = false
	return m.Backend.Release(ctx, g)
}

// sharesToOneWaiter grants a waiting reader nothing while other readers hold the name.
type sharesToOneWaiter struct{ *memlock.Backend }

// oneByOne makes the look and the request of sharesToOneWaiter one step. Otherwise two readers that are woken together
// could both look before one of them is granted a share, and the defect would not show.
var oneByOne sync.Mutex

func (m sharesToOneWaiter) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	oneByOne.Lock()
	defer oneByOne.Unlock()
	if seen, err := m.Inspect(ctx, r.Key); err == nil && r.Shared && r.Waiting && seen.Readers > 0 {
		return driver.Grant{}, &driver.Held{Readers: seen.Readers, Token: seen.Token, ExpiresIn: seen.ExpiresIn}
	}
	return m.Backend.Acquire(ctx, r)
}

// refusesTheSameShare refuses a repeated request of a reader.
type refusesTheSameShare struct{ *memlock.Backend }

func (m refusesTheSameShare) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	probe := driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL, Shared: true}
	if outcomes, err := m.Renew(ctx, []driver.Grant{probe}); err == nil && r.Shared && outcomes[0] == driver.Renewed {
		return driver.Grant{}, &driver.Held{}
	}
	return m.Backend.Acquire(ctx, r)
}

// needsShareToken does not release a share without its token.
type needsShareToken struct{ *memlock.Backend }

func (m needsShareToken) Release(ctx context.Context, g driver.Grant) error {
	if g.Shared && g.Token == 0 {
		return driver.ErrNotHeld
	}
	return m.Backend.Release(ctx, g)
}

// reservesNothing lets later readers overtake a waiting writer.
type reservesNothing struct{ *memlock.Backend }

func (m reservesNothing) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Waits = r.Waits && r.Shared
	return m.Backend.Acquire(ctx, r)
}

// reservesUntilTheRelease lets later readers overtake a waiting writer once the last reader has released the name.
type reservesUntilTheRelease struct{ *memlock.Backend }

func (m reservesUntilTheRelease) Release(ctx context.Context, g driver.Grant) error {
	err := m.Backend.Release(ctx, g)
	_, _ = m.Prune(ctx, 0) // forgets the waiter, and keeps the largest token
	return err
}

// reservesForEver also refuses the repeated request of a reader while a writer waits.
type reservesForEver struct{ *memlock.Backend }

func (m reservesForEver) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	probe := driver.Request{Key: r.Key, Nonce: driver.NewNonce(), TTL: r.TTL, Shared: true}
	g, err := m.Backend.Acquire(ctx, probe)
	if held := refusedBy(err); r.Shared && held != nil && held.Reason == driver.Reserved {
		return g, err
	}
	if err == nil {
		_ = m.Backend.Release(ctx, g)
	}
	return m.Backend.Acquire(ctx, r)
}

// forcesNoShares does not force a release of readers.
type forcesNoShares struct{ *memlock.Backend }

func (m forcesNoShares) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	if seen, err := m.Inspect(ctx, key); err == nil && seen.Readers > 0 {
		return nil
	}
	return m.Backend.ForceRelease(ctx, key, token, live)
}

// countsNoReaders reports no number of readers.
type countsNoReaders struct{ *memlock.Backend }

func (m countsNoReaders) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s, err := m.Backend.Inspect(ctx, key)
	s.Readers = 0
	return s, err
}

// wakesOne notifies only the client that has subscribed first, and only of a release.
type wakesOne struct {
	*memlock.Backend
	mu    sync.Mutex
	order map[driver.Key][]*func()
}

func newWakesOne(b *memlock.Backend) inprocess.Memory {
	return &wakesOne{Backend: b, order: make(map[driver.Key][]*func())}
}

func (m *wakesOne) Notify(ctx context.Context, key driver.Key, wake func()) (func(), error) {
	mine := &wake
	m.mu.Lock()
	m.order[key] = append(m.order[key], mine)
	m.mu.Unlock()
	stop, err := m.Backend.Notify(ctx, key, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.order[key][0] == mine {
			wake()
		}
	})
	return func() {
		stop()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.order[key] = slices.DeleteFunc(m.order[key], func(other *func()) bool { return other == mine })
	}, err
}
