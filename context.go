package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

type leaseKey struct{}

// FromContext returns the lease that ctx carries. The context of a lease carries it, as does the ctx that Do
// gives to its function, and every context derived from these. If locks are nested, FromContext returns the
// innermost lease. So functions need no parameter for the lease.
func FromContext(ctx context.Context) (*Lease, bool) {
	le, ok := ctx.Value(leaseKey{}).(*Lease)
	return le, ok
}

// trusted is a context that ends as soon as its lease does. After a suspension, the timer that ends the context
// may be late. Err does not depend on the timer, because it checks the clocks.
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

// nesting is a key for Context.Value. The value is a held lease that an Acquire of key would wait for.
type nesting struct {
	locker *Locker
	key    driver.Key
}

// in reports whether an Acquire of n.key would wait for le: whether le is held and has the same key in the same
// backend.
func (n nesting) in(le *Lease) bool {
	return le.grant.Key == n.key && le.locker.hasStoreOf(n.locker) && le.Err() == nil
}

// check returns an error if ctx carries a lease that the Acquire would wait for. The code that holds this lease waits
// for the Acquire, so the wait would never end.
func (n nesting) check(ctx context.Context) error {
	if n.locker.caps.Shares {
		return nil
	}
	if le, ok := ctx.Value(n).(*Lease); ok {
		return &nestedError{n.key, le.Token()}
	}
	return nil
}
