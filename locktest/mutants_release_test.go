package locktest

import (
	"context"
	"errors"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

type releasesAnyToken struct{ *memlock.Backend }

func (m releasesAnyToken) Release(ctx context.Context, g driver.Grant) error {
	g.Token = 0
	return m.Backend.Release(ctx, g)
}

type releasesByName struct{ *memlock.Backend }

func (m releasesByName) Release(ctx context.Context, g driver.Grant) error {
	seen, err := m.Inspect(ctx, g.Key)
	if err == nil && seen.State == driver.StateHeld {
		return m.ForceRelease(ctx, g.Key, seen.Token, true)
	}
	return m.Backend.Release(ctx, g)
}

// releasesOnce does not remember which grants it has released.
type releasesOnce struct {
	*memlock.Backend
	mu   sync.Mutex
	gone map[driver.Nonce]bool
}

func newReleasesOnce(b *memlock.Backend) inprocess.Memory {
	return &releasesOnce{Backend: b, gone: make(map[driver.Nonce]bool)}
}

func (m *releasesOnce) Release(ctx context.Context, g driver.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone[g.Nonce] {
		return driver.ErrNotHeld
	}
	err := m.Backend.Release(ctx, g)
	m.gone[g.Nonce] = err == nil
	return err
}

type releasesNothing struct{ *memlock.Backend }

func (m releasesNothing) Release(context.Context, driver.Grant) error { return nil }

type needsToken struct{ *memlock.Backend }

func (m needsToken) Release(ctx context.Context, g driver.Grant) error {
	if g.Token == 0 {
		return driver.ErrNotHeld
	}
	return m.Backend.Release(ctx, g)
}

type releasesAll struct{ *memlock.Backend }

func (m releasesAll) Release(ctx context.Context, g driver.Grant) error {
	if err := m.Backend.Release(ctx, g); !errors.Is(err, driver.ErrNotHeld) {
		return err
	}
	return nil
}
