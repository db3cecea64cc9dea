package demo

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/store"
)

// pausing is the store of a worker that is suspended before its first renewal is due. A suspended process sends nothing
// and does not notice how much time passes. When it continues, its first statement may run before it has read a clock.
// One worker cannot be suspended without its whole process, so this type reports a longer lease to the worker than the
// store has granted.
type pausing struct {
	store.Backend

	believed time.Duration
}

// Acquire replaces the TTL of the lease with a longer one.
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
