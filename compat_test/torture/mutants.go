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

// mutant is a defect that a library, a backend or its user may have, and the properties of which one at least must be
// found broken.
type mutant struct {
	name     string
	caughtBy []string
	backend  func(driver.Backend) driver.Backend
	client   func(*client)

	unchecked, blind, rash, deaf bool // see there
}

// mutants are run on SQLite: the defects are not the store's.
var mutants = []mutant{
	{name: "renewals are never sent", caughtBy: []string{"S3"}, backend: func(b driver.Backend) driver.Backend { return forgetful{bare{b}} }},
	{name: "a release ends any grant of the lock", caughtBy: []string{"S6"}, backend: func(b driver.Backend) driver.Backend { return rude{bare{b}} }},
	{name: "a lock that is held is granted", caughtBy: []string{"S4"}, backend: func(b driver.Backend) driver.Backend { return generous{bare{b}} }},
	{name: "tokens are seconds", caughtBy: []string{"S2"}, backend: func(b driver.Backend) driver.Backend { return &coarse{bare: bare{b}} }},
	{name: "a crash frees nothing", caughtBy: []string{"L1"}, backend: func(b driver.Backend) driver.Backend { return patient{bare{b}} }},
	{name: "the backend claims less than it keeps", caughtBy: []string{"S12"}, backend: func(b driver.Backend) driver.Backend { return humble{b} }},
	{name: "the check is left out", caughtBy: []string{"S5", "S5'"}, unchecked: true},
	{name: "writes are fenced, and reads are not", caughtBy: []string{"S5'"}, blind: true, client: func(c *client) {
		c.guard, c.sealer, c.pair = c.data.guard(c.data.DB, fence.Lazy()), nil, nil
	}},
	{name: "a write is acknowledged before its commit", caughtBy: []string{"W"}, rash: true},
	{name: "a reported loss is forgotten", caughtBy: []string{"S7"}, deaf: true},
}

func findMutant(name string) *mutant {
	for i, m := range mutants {
		if m.name == name {
			return &mutants[i]
		}
	}
	return new(mutant)
}

// bare is a backend that says what it can do, and can do no more than it must.
type bare struct{ driver.Backend }

// forgetful sends no renewal, and says that all were successful.
type forgetful struct{ bare }

func (f forgetful) Renew(_ context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(grants))
	for i := range outcomes {
		outcomes[i] = driver.Renewed
	}
	return outcomes, nil
}

// rude looks at the name only.
type rude struct{ bare }

func (r rude) Release(ctx context.Context, g driver.Grant) error {
	store := r.Backend.(driver.Operator)
	now, err := store.Inspect(ctx, g.Key)
	if err != nil {
		return err
	}
	return store.ForceRelease(ctx, g.Key, now.Token, true)
}

// generous refuses nobody.
type generous struct{ bare }

func (y generous) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := y.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) && held.Token != 0 {
		return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: held.Token + 1, TTL: r.TTL}, nil
	}
	return g, err
}

// coarse hands out tokens that are the same for a second.
type coarse struct {
	bare
	real sync.Map // nonce: token
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

// patient asks for an hour, whatever the TTL.
type patient struct{ bare }

func (p patient) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.TTL = time.Hour
	return p.Backend.Acquire(ctx, r)
}

// humble says that its tokens are not to be relied on.
type humble struct{ driver.Backend }

func (h humble) Capabilities() driver.Capabilities {
	c := h.Backend.Capabilities()
	c.Token = driver.BestEffortToken
	return c
}
