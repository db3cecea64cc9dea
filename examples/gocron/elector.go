package gocron

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rowlock/rowlock"
)

// Elector is a gocron.Elector: one process runs all jobs, until it ends or loses its lease; then another does.
type Elector struct{ term atomic.Pointer[rowlock.Lease] }

// ErrNoLeader is what IsLeader answers in a process that does not lead.
var ErrNoLeader = errors.New("gocron: another process leads, or none yet")

// Campaign has this process stand for name until ctx ends, and returns what rowlock.Lead does. Run it in a goroutine.
func (e *Elector) Campaign(ctx context.Context, locker *rowlock.Locker, name string, opts ...rowlock.Option) error {
	return rowlock.Lead(ctx, locker, name, func(ctx context.Context, lease *rowlock.Lease) error {
		e.term.Store(lease)
		defer e.term.Store(nil)
		<-ctx.Done()
		return nil
	}, opts...)
}

// IsLeader asks no store: it looks at the lease's clocks, and so is right after a pause, too.
func (e *Elector) IsLeader(context.Context) error {
	lease := e.term.Load()
	if lease == nil {
		return ErrNoLeader
	}
	return lease.Err()
}
