package locktest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
)

// deaf opens clients that ignore the end of their context after they were cut off.
type deaf struct{ *inprocess.Harness }

var caughtDeaf = []string{"context-ends-a-call", "unavailable-is-not-held", "close-is-bounded"}

func (h deaf) Open(ctx context.Context) (driver.Backend, error) {
	b, err := h.Harness.Open(ctx)
	return &deafClient{Backend: b}, err
}

func (h deaf) Cut(b driver.Backend) error {
	c := b.(*deafClient)
	until := time.Now().Add(callLimit + slack + lively) // longer than any case allows
	c.deafUntil.Store(&until)
	return h.Harness.Cut(c.Backend)
}

func (h deaf) Restore(b driver.Backend) error { return h.Harness.Restore(b.(*deafClient).Backend) }

type deafClient struct {
	driver.Backend
	deafUntil atomic.Pointer[time.Time]
}

func (c *deafClient) wait() {
	if until := c.deafUntil.Load(); until != nil {
		time.Sleep(time.Until(*until))
	}
}

func (c *deafClient) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c.wait()
	return c.Backend.Acquire(ctx, r)
}

func (c *deafClient) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	c.wait()
	return c.Backend.Renew(ctx, grants)
}

func (c *deafClient) Release(ctx context.Context, g driver.Grant) error {
	c.wait()
	return c.Backend.Release(ctx, g)
}
