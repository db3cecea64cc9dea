package locktest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

type neverExcludes struct{ *memlock.Backend }

func (m neverExcludes) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		_ = m.ForceRelease(ctx, r.Key, held.Token, true)
		return m.Backend.Acquire(ctx, r)
	}
	return g, err
}

type racy struct{ *memlock.Backend }

func (m racy) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	seen, err := m.Inspect(ctx, r.Key)
	if err != nil || seen.State != driver.StateFree {
		return m.Backend.Acquire(ctx, r)
	}
	runtime.Gosched() // lets another client run in between
	time.Sleep(time.Millisecond)
	return neverExcludes(m).Acquire(ctx, r)
}

type heldAsPlainError struct{ *memlock.Backend }

func (m heldAsPlainError) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		return g, errors.New("lock is already taken")
	}
	return g, err
}

type errorsAsHeld struct{ *memlock.Backend }

func (m errorsAsHeld) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.Backend.Acquire(ctx, r)
	if err != nil {
		return g, &driver.Held{}
	}
	return g, nil
}

type refusesWhoWaits struct{ *memlock.Backend }

func (m refusesWhoWaits) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Waiting {
		return driver.Grant{}, &driver.Held{}
	}
	return m.Backend.Acquire(ctx, r)
}

type ignoresContext struct{ *memlock.Backend }

func (m ignoresContext) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return m.Backend.Acquire(context.WithoutCancel(ctx), r)
}

// leaky leaves a goroutine running for longer than the suite waits.
type leaky struct{ *memlock.Backend }

func newLeaky(b *memlock.Backend) inprocess.Memory { return leaky{b} }

func (m leaky) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	go time.Sleep(impatient.patience + 5*time.Second)
	return m.Backend.Acquire(ctx, r)
}

type sameNonceNewToken struct{ *memlock.Backend }

func (m sameNonceNewToken) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	_ = m.Release(ctx, driver.Grant{Key: r.Key, Nonce: r.Nonce})
	return m.Backend.Acquire(ctx, r)
}

type sameNonceRefused struct{ *memlock.Backend }

func (m sameNonceRefused) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if seen, _ := m.Inspect(ctx, r.Key); seen.State == driver.StateHeld {
		return driver.Grant{}, &driver.Held{Holder: seen.Holder, Token: seen.Token}
	}
	return m.Backend.Acquire(ctx, r)
}

// remembering answers a repeated request with its first grant for the nonce, even if that grant has ended.
type remembering struct {
	*memlock.Backend
	mu     sync.Mutex
	grants map[driver.Nonce]driver.Grant
}

func newRemembering(b *memlock.Backend) inprocess.Memory {
	return &remembering{Backend: b, grants: make(map[driver.Nonce]driver.Grant)}
}

func (m *remembering) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g, ok := m.grants[r.Nonce]; ok {
		return g, nil
	}
	g, err := m.Backend.Acquire(ctx, r)
	if err == nil {
		m.grants[r.Nonce] = g
	}
	return g, err
}
