package gocron

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rowlock/rowlock"
)

// Elector is a gocron.Elector: one process runs all jobs until it ends or loses its lease. Then another process runs
// them.
type Elector struct{ term atomic.Pointer[rowlock.Lease] }

// ErrNoLeader is the error of IsLeader in a process that does not lead.
var ErrNoLeader = errors.New("gocron: this process does not lead")

// Campaign makes this process a candidate for name until ctx ends, and returns the result of rowlock.Lead. Run it in a
// goroutine.
func (e *Elector) Campaign(ctx context.Context, locker *rowlock.Locker, name string, opts ...rowlock.Option) error {
	return rowlock.Lead(ctx, locker, name, func(ctx context.Context, lease *rowlock.Lease) error {
		e.term.Store(lease)
		defer e.term.Store(nil)
		<-ctx.Done()
		return nil
	}, opts...)
}

// IsLeader sends no request. It checks the lease's deadline with the local clocks, so its result is also correct
// after the process was suspended.
func (e *Elector) IsLeader(context.Context) error {
	lease := e.term.Load()
	if lease == nil {
		return ErrNoLeader
	}
	return lease.Err()
}
