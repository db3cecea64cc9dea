//go:build linux

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
)

// mutant is a defect that the library, a backend or a user's program may have. The checker must find at least one of the
// properties in caughtBy violated.
type mutant struct {
	name     string
	caughtBy []string
	backend  func(driver.Backend) driver.Backend
	client   func(*client)

	calm time.Duration // if not 0, the run takes this long and has no faults, because faults extend the time limits of the checker

	unchecked, blind, rash, deaf, partial, roomy bool // the worker's code shows what each of these fields changes
}

// mutants lists the defects. All of them are tested on SQLite only, because the defects do not depend on the store.
var mutants = []mutant{
	{name: "renewals are never sent", caughtBy: []string{"S3"}, backend: func(b driver.Backend) driver.Backend { return forgetful{bare{b}} }},
	{name: "a release ends any grant of the lock", caughtBy: []string{"S6"}, backend: func(b driver.Backend) driver.Backend { return rude{bare{b}} }},
	{name: "a lock that is held is granted", caughtBy: []string{"S4"}, backend: func(b driver.Backend) driver.Backend { return generous{bare{b}} }},
	{name: "tokens are seconds", caughtBy: []string{"S2"}, backend: func(b driver.Backend) driver.Backend { return &coarse{bare: bare{b}} }},
	{name: "the lock of a crashed holder stays held", caughtBy: []string{"L1"}, backend: func(b driver.Backend) driver.Backend { return patient{bare{b}} }},
	{name: "the backend claims weaker tokens than it has", caughtBy: []string{"S12"}, backend: func(b driver.Backend) driver.Backend { return humble{b} }},
	{name: "writes are not checked against the fence", caughtBy: []string{"S5", "S5'"}, unchecked: true},
	{name: "writes are fenced, but reads are not", caughtBy: []string{"S5'"}, blind: true, client: func(c *client) {
		c.guard, c.sealer, c.pair = c.data.guard(c.data.DB, fence.Lazy()), nil, nil
	}},
	{name: "a write is acknowledged before its commit", caughtBy: []string{"W"}, rash: true},
	{name: "a lease is trusted after its loss was reported", caughtBy: []string{"S7"}, deaf: true},
	{name: "AcquireAll reports all names, and holds only one", caughtBy: []string{"S13"}, partial: true},
	{name: "the names of the slots include one too many", caughtBy: []string{"S14"}, roomy: true},
	{name: "a job runs although its tick is done", caughtBy: []string{"S15"}, backend: func(b driver.Backend) driver.Backend { return eager{bare{b}} }},
	{name: "a writer does not wait for readers", caughtBy: []string{"S17"}, backend: func(b driver.Backend) driver.Backend { return ruthless{bare{b}} }},
	{name: "each reader has a token of its own", caughtBy: []string{"S18"}, backend: func(b driver.Backend) driver.Backend { return &scattered{coarse{bare: bare{b}}} }},
	{name: "readers overtake a writer that waits", caughtBy: []string{"L7"}, calm: time.Minute, backend: func(b driver.Backend) driver.Backend { return modest{bare{b}} }},
	{name: "a release records no tick", caughtBy: []string{"S16"}, backend: func(b driver.Backend) driver.Backend { return tickless{bare{b}} }},
}

func findMutant(name string) *mutant {
	for i, m := range mutants {
		if m.name == name {
			return &mutants[i]
		}
	}
	return new(mutant)
}

// bare is a backend without the optional methods of the backend that it wraps.
type bare struct{ driver.Backend }

// forgetful sends no renewals, and reports that all renewals were successful.
type forgetful struct{ bare }

func (f forgetful) Renew(_ context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(grants))
	for i := range outcomes {
		outcomes[i] = driver.Renewed
	}
	return outcomes, nil
}

// rude releases the lock's present grant, whether or not the caller holds it.
type rude struct{ bare }

func (r rude) Release(ctx context.Context, g driver.Grant) error {
	store := r.Backend.(driver.Operator)
	now, err := store.Inspect(ctx, g.Key)
	if err != nil {
		return err
	}
	return store.ForceRelease(ctx, g.Key, now.Token, true)
}

// generous grants a lock even if it is held.
type generous struct{ bare }

func (y generous) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := y.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) && held.Token != 0 {
		return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: held.Token + 1, TTL: r.TTL}, nil
	}
	return g, err
}

// ruthless grants a lock to a writer although readers hold it.
type ruthless struct{ bare }

func (y ruthless) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := y.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) && held.Readers > 0 && !r.Shared {
		return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: held.Token + 1, TTL: r.TTL}, nil
	}
	return g, err
}

// modest does not let the store know that a writer waits.
type modest struct{ bare }

func (m modest) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Waits = false
	return m.Backend.Acquire(ctx, r)
}

// scattered issues different tokens to readers that hold the lock together.
type scattered struct{ coarse }

func (s *scattered) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	if err == nil && g.Shared {
		s.real.Store(g.Nonce, g.Token)
		g.Token += driver.Token(g.Nonce[0]) % 100
	}
	return g, err
}

// coarse issues tokens that stay the same for a second.
type coarse struct {
	bare
	real sync.Map // for each nonce, the token in the store
}

func (c *coarse) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := c.Backend.Acquire(ctx, r)
	if err == nil {
		c.real.Store(g.Nonce, g.Token)
		g.Token /= 1_000_000
	}
	return g, err
}

func (c *coarse) restore(g driver.Grant) driver.Grant {
	if token, ok := c.real.Load(g.Nonce); ok {
		g.Token = token.(driver.Token)
	}
	return g
}

func (c *coarse) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	all := make([]driver.Grant, len(grants))
	for i, g := range grants {
		all[i] = c.restore(g)
	}
	return c.Backend.Renew(ctx, all)
}

func (c *coarse) Release(ctx context.Context, g driver.Grant) error {
	return c.Backend.Release(ctx, c.restore(g))
}

// patient requests a TTL of one hour, whatever TTL the caller wants.
type patient struct{ bare }

func (p patient) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.TTL = time.Hour
	return p.Backend.Acquire(ctx, r)
}

// eager is a backend that does not report which tick is done, so a job runs again for that tick.
type eager struct{ bare }

func (e eager) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := e.Backend.Acquire(ctx, r)
	g.Done = ""
	return g, err
}

// tickless releases a grant, and does not record its tick.
type tickless struct{ bare }

func (t tickless) Release(ctx context.Context, g driver.Grant) error {
	g.Done = ""
	return t.Backend.Release(ctx, g)
}

// humble claims that its tokens are only best-effort.
type humble struct{ driver.Backend }

func (h humble) Capabilities() driver.Capabilities {
	c := h.Backend.Capabilities()
	c.Token = driver.BestEffortToken
	return c
}
