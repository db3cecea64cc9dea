package sqllock

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// invalid is a backend with invalid options. Every call returns err.
type invalid struct{ err error }

func (i invalid) fail() error { return driver.Permanent(i.err) }

func (i invalid) Acquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, i.fail()
}

func (i invalid) Renew(context.Context, []driver.Grant) ([]driver.Outcome, error) {
	return nil, i.fail()
}
func (i invalid) Release(context.Context, driver.Grant) error { return i.fail() }
func (i invalid) Capabilities() driver.Capabilities           { return driver.Capabilities{Invalid: i.err} }
func (i invalid) List(context.Context, string, bool) ([]driver.Status, error) {
	return nil, i.fail()
}

func (i invalid) Inspect(context.Context, driver.Key) (driver.Status, error) {
	return driver.Status{}, i.fail()
}

func (i invalid) ForceRelease(context.Context, driver.Key, driver.Token, bool) error {
	return i.fail()
}
func (i invalid) Prune(context.Context, time.Duration) (int, error)           { return 0, i.fail() }
func (i invalid) LockInTx(context.Context, sqlbase.Querier, driver.Key) error { return i.fail() }

func (i invalid) HandOver(context.Context, driver.Grant, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, i.fail()
}

func (i invalid) Pause(context.Context, driver.Grant, driver.Nonce) error { return i.fail() }

func (i invalid) Notify(context.Context, driver.Key, func()) (func(), error) { return nil, i.fail() }

func (i invalid) AcquireEach(_ context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	return make([]driver.Grant, len(requests)), slices.Repeat([]error{i.fail()}, len(requests))
}

func (i invalid) ReleaseEach(_ context.Context, grants []driver.Grant) []error {
	return slices.Repeat([]error{i.fail()}, len(grants))
}
