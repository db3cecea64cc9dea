package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// tokenless hides the tokens of the store that it wraps, and declares that it has no tokens.
type tokenless struct {
	inprocess.Memory

	mu     sync.Mutex
	behind map[driver.Nonce]driver.Token
}

func newTokenless(build func(*memlock.Backend) inprocess.Memory) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		return &tokenless{Memory: build(b), behind: map[driver.Nonce]driver.Token{}}
	}
}

func (m *tokenless) Capabilities() driver.Capabilities {
	c := m.Memory.Capabilities()
	c.Token, c.Anonymous = driver.NoToken, true
	return c
}

func (m *tokenless) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Memory.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		held.Token = 0
	}
	if err == nil {
		m.mu.Lock()
		m.behind[r.Nonce] = g.Token
		m.mu.Unlock()
	}
	g.Token = 0
	return g, err
}

func (m *tokenless) numbered(g driver.Grant) driver.Grant {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g.Token == 0 {
		g.Token = m.behind[g.Nonce]
	}
	return g
}

func (m *tokenless) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Memory.Renew(ctx, altered(grants, func(g *driver.Grant) { *g = m.numbered(*g) }))
}

func (m *tokenless) Release(ctx context.Context, g driver.Grant) error {
	return m.Memory.Release(ctx, m.numbered(g))
}

// A backend that declares that it has no tokens passes every case about other promises.
func TestABackendWithoutTokensPasses(t *testing.T) {
	t.Parallel()
	sound := newTokenless(func(b *memlock.Backend) inprocess.Memory { return b })
	synctest.Test(t, func(t *testing.T) {
		err := usual.check(t.Context(), inprocess.New(sound(memlock.New())), cases(), func(Result) {})
		require.NotErrorAs(t, err, new(*Failure))
	})
}

// undeclared also has no tokens, but declares that it has tokens.
func undeclared(b *memlock.Backend) inprocess.Memory {
	return boastful{newTokenless(func(b *memlock.Backend) inprocess.Memory { return b })(b)}
}

type boastful struct{ inprocess.Memory }

func (boastful) Capabilities() driver.Capabilities {
	return driver.Capabilities{Token: driver.LinearizableToken}
}
