package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// counting replaces memlock's tokens by its own tokens, which count the grants of each name.
type counting struct {
	*memlock.Backend
	defect tokenDefect

	mu    sync.Mutex
	count map[driver.Key]driver.Token
	shown map[driver.Key]driver.Token // the token of the current grant, as reported to callers
	real  map[driver.Key]driver.Token // the token of the same grant in memlock
}

type tokenDefect uint8

const (
	constant tokenDefect = iota
	fromZero
	restartsAfterRelease
	restartsAfterExpiry
	restartsAfterPrune
	changesWithRenewal
)

func tokens(defect tokenDefect) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		return &counting{
			Backend: b, defect: defect,
			count: make(map[driver.Key]driver.Token), shown: make(map[driver.Key]driver.Token), real: make(map[driver.Key]driver.Token),
		}
	}
}

func (m *counting) mint(key driver.Key) driver.Token {
	switch m.count[key]++; m.defect {
	case constant:
		m.count[key] = 7
	case fromZero:
		return m.count[key] - 1
	}
	return m.count[key]
}

func (m *counting) restart(defect tokenDefect, key driver.Key) {
	if m.defect == defect {
		m.count[key] = 0
	}
}

// behind returns g with the token that memlock has issued.
func (m *counting) behind(g driver.Grant) driver.Grant {
	switch {
	case g.Token == 0:
	case g.Token == m.shown[g.Key]:
		g.Token = m.real[g.Key]
	default:
		g.Token = -1
	}
	return g
}

func (m *counting) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		held.Token = m.shown[r.Key]
		return g, held
	}
	if err == nil && m.real[r.Key] != g.Token {
		m.real[r.Key], m.shown[r.Key] = g.Token, m.mint(r.Key)
	}
	g.Token = m.shown[r.Key]
	return g, err
}

func (m *counting) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcomes, err := m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { *g = m.behind(*g) }))
	for i, o := range outcomes {
		if o == driver.Renewed && m.defect == changesWithRenewal {
			m.shown[grants[i].Key] = m.mint(grants[i].Key)
		}
	}
	return outcomes, err
}

func (m *counting) Release(ctx context.Context, g driver.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restart(restartsAfterRelease, g.Key)
	return m.Backend.Release(ctx, m.behind(g))
}

func (m *counting) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.Backend.Inspect(ctx, key)
	if s.Token != 0 {
		s.Token = m.shown[key]
	}
	return s, err
}

func (m *counting) Expire(key driver.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restart(restartsAfterExpiry, key)
	m.Backend.Expire(key)
}

func (m *counting) Prune(ctx context.Context, unused time.Duration) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.count {
		m.restart(restartsAfterPrune, key)
	}
	return m.Backend.Prune(ctx, unused)
}
