package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

type leaseKey struct{}

// FromContext returns the lease that ctx was made under: the context of a lease, the one that Do
// hands to its function, or any made from them. It is the innermost where locks are nested. So a
// repository's method needs no parameter for it.
func FromContext(ctx context.Context) (*Lease, bool) {
	le, ok := ctx.Value(leaseKey{}).(*Lease)
	return le, ok
}

// trusted is a context that is over as soon as its lease is, even where the timer that should have
// ended it is late because the process was paused: asking it checks the clocks.
type trusted struct {
	context.Context
	lease *Lease
	end   context.CancelCauseFunc
}

func (c trusted) Err() error {
	if err := c.lease.Err(); err != nil {
		c.end(err)
	}
	return c.Context.Err()
}

func (c trusted) Value(key any) any {
	if key == (leaseKey{}) {
		return c.lease
	}
	if n, ok := key.(nesting); ok && n.in(c.lease) {
		return c.lease
	}
	return c.Context.Value(key)
}

// nesting is the key by which a context is asked for a lease that is held and that an acquire of key would wait for.
type nesting struct {
	locker *Locker
	key    driver.Key
}

// in says whether le is such a lease.
func (n nesting) in(le *Lease) bool {
	return le.grant.Key == n.key && le.locker.hasStoreOf(n.locker) && le.Err() == nil
}

// check fails if ctx carries such a lease. It ends when the work ends that waits for it, so the wait would have no end.
func (n nesting) check(ctx context.Context) error {
	if n.locker.caps.Shares {
		return nil
	}
	if le, ok := ctx.Value(n).(*Lease); ok {
		return &nestedError{n.key, le.Token()}
	}
	return nil
}
