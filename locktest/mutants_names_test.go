package locktest

import (
	"context"
	"strings"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// folds are functions that map different keys to the same key.
var folds = map[string]struct {
	key      func(driver.Key) driver.Key
	caughtBy string
}{
	"folds case": {func(k driver.Key) driver.Key { return named(k, strings.ToLower(k.Name)) }, "names-are-exact"},
	"trims trailing space": {
		func(k driver.Key) driver.Key { return named(k, strings.TrimRight(k.Name, " ")) }, "names-are-exact",
	},
	"composes letters and accents": {
		func(k driver.Key) driver.Key { return named(k, strings.ReplaceAll(k.Name, "e\u0301", "é")) }, "names-are-exact",
	},
	"cuts names at 255 bytes": {
		func(k driver.Key) driver.Key { return named(k, k.Name[:min(255, len(k.Name))]) }, "names-are-exact",
	},
	"cuts names before the last byte": {
		func(k driver.Key) driver.Key { return named(k, k.Name[:min(driver.MaxName-1, len(k.Name))]) }, "names-are-exact",
	},
	"ignores the namespace": {func(k driver.Key) driver.Key { return driver.Key{Name: k.Name} }, "namespaces-are-apart"},
	"joins namespace and name with a slash": {
		func(k driver.Key) driver.Key { return driver.Key{Name: k.String()} }, "namespaces-are-apart",
	},
	"joins namespace and name with a control character": {
		func(k driver.Key) driver.Key { return driver.Key{Name: k.Namespace + "\x1f" + k.Name} }, "namespaces-are-apart",
	},
	"joins namespace and name with nothing": {
		func(k driver.Key) driver.Key { return driver.Key{Name: k.Namespace + k.Name} }, "namespaces-are-apart",
	},
}

func named(k driver.Key, name string) driver.Key {
	k.Name = name
	return k
}

// rekeyed stores every lock under a changed key.
type rekeyed struct {
	*memlock.Backend
	fold func(driver.Key) driver.Key
}

func (m *rekeyed) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	key := r.Key
	r.Key = m.fold(key)
	g, err := m.Backend.Acquire(ctx, r)
	g.Key = key
	return g, err
}

func (m *rekeyed) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return m.Backend.Renew(ctx, altered(grants, func(g *driver.Grant) { g.Key = m.fold(g.Key) }))
}

func (m *rekeyed) Release(ctx context.Context, g driver.Grant) error {
	g.Key = m.fold(g.Key)
	return m.Backend.Release(ctx, g)
}
