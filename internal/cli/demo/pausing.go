package demo

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/store"
)

// pausing is a backend that simulates a suspended worker process. A suspended process sends no renewals and does not
// notice how much time passes. When it continues, its first statement may run before it has read a clock.
// The demonstration cannot suspend one worker without the whole process. So this backend reports a longer lease to the
// worker than the store has granted, and the worker neither renews nor notices the loss.
type pausing struct {
	store.Backend

	believed time.Duration
}

// Acquire acquires the lease in the store, and reports a longer TTL than the store has granted.
func (p *pausing) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := p.Backend.Acquire(ctx, r)
	g.TTL = p.believed
	return g, err
}

// Renew sends nothing.
func (p *pausing) Renew(ctx context.Context, _ []driver.Grant) ([]driver.Outcome, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
