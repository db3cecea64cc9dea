package locktest

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// recordsNoTick releases, and does not record the tick.
type recordsNoTick struct{ *memlock.Backend }

func (m recordsNoTick) Release(ctx context.Context, g driver.Grant) error {
	g.Done = ""
	return m.Backend.Release(ctx, g)
}

// tickbook keeps ticks outside of the locks, in one of several wrong ways.
type tickbook struct {
	*memlock.Backend
	mu     sync.Mutex
	ticks  map[driver.Key]string
	always bool // records a tick even if the release fails
	clears bool // true if a release without a tick deletes the tick
	until  bool // true if a grant deletes the tick
}

func newTickbook(set func(*tickbook)) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		m := &tickbook{Backend: b, ticks: make(map[driver.Key]string)}
		set(m)
		return m
	}
}

func (m *tickbook) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		g.Done = m.ticks[r.Key]
		if m.until {
			delete(m.ticks, r.Key)
		}
	}
	return g, err
}

func (m *tickbook) Release(ctx context.Context, g driver.Grant) error {
	tick := g.Done
	g.Done = ""
	err := m.Backend.Release(ctx, g)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case tick != "" && (err == nil || m.always):
		m.ticks[g.Key] = tick
	case tick == "" && m.clears && err == nil:
		delete(m.ticks, g.Key)
	}
	return err
}

// recordsLate records the tick with the second release of a grant.
type recordsLate struct {
	*memlock.Backend
	mu   sync.Mutex
	seen map[driver.Nonce]bool
}

func newRecordsLate(b *memlock.Backend) inprocess.Memory {
	return &recordsLate{Backend: b, seen: make(map[driver.Nonce]bool)}
}

func (m *recordsLate) Release(ctx context.Context, g driver.Grant) error {
	m.mu.Lock()
	first := !m.seen[g.Nonce]
	m.seen[g.Nonce] = true
	m.mu.Unlock()
	if first {
		g.Done = ""
	}
	return m.Backend.Release(ctx, g)
}
