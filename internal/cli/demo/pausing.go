package demo

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/store"
)

// pausing is a store as a worker sees it that is paused before its first renewal is due. A process
// that is paused sends nothing, and sees no time pass: when it wakes, its first statement may come
// before it has looked at a clock. One worker of a process cannot be stopped without the others, so
// this one is told that its lease lasts longer than it does.
type pausing struct {
	store.Backend

	believed time.Duration
}

// Acquire makes the lease a believed one.
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
