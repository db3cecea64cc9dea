package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

type leaseKey struct{}

// FromContext returns the lease that ctx carries, so functions need no parameter for the lease. These contexts carry a
// lease: the context of the lease, the ctx that Do passes to its function, and every context derived from them. If
// locks are nested, FromContext returns the innermost lease. For a context of [Leases], FromContext returns the lease
// on the first name.
func FromContext(ctx context.Context) (*Lease, bool) {
	all := LeasesFromContext(ctx)
	if len(all) == 0 {
		return nil, false
	}
	return all[0], true
}

// LeasesFromContext returns all leases that ctx carries together: those of a call of [Locker.AcquireAll],
// in the order of its names, or a single lease. It returns nil if ctx carries no lease. The caller must not change
// the slice.
func LeasesFromContext(ctx context.Context) []*Lease {
	all, _ := ctx.Value(leaseKey{}).([]*Lease)
	return all
}

// trusted is a context that ends as soon as one of its leases ends. After a suspension, the timer that ends the context
// may be late. Err does not depend on the timer, because it checks the clocks.
type trusted struct {
	context.Context
	leases []*Lease
	end    context.CancelCauseFunc
}

func (c trusted) Err() error {
	if err := c.ended(); err != nil {
		c.end(err)
	}
	return c.Context.Err()
}

// ended returns the reason why one of the leases has ended, or nil while all leases are held.
func (c trusted) ended() error {
	for _, le := range c.leases {
		if err := le.Err(); err != nil {
			return err
		}
	}
	return nil
}

// scope returns a context that ends when ctx or c ends. The caller must call the function leave, which ends that
// context.
func (c trusted) scope(ctx context.Context) (scope context.Context, leave func()) {
	inner, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c, func() { cancel(context.Cause(c)) })
	return trusted{inner, c.leases, cancel}, func() {
		stop()
		cancel(nil)
	}
}

// run calls fn with a context of the leases. It then calls release with the error of fn, and returns the result. If fn
// panics, that error is nil.
func (c trusted) run(ctx context.Context, fn func(context.Context) error, release func(error) error) (err error) {
	inner, leave := c.scope(ctx)
	defer func() {
		leave()
		err = release(err)
	}()
	return fn(inner)
}

func (c trusted) Value(key any) any {
	if key == (leaseKey{}) {
		return c.leases
	}
	if n, ok := key.(nesting); ok {
		for _, le := range c.leases {
			if n.in(le) {
				return le
			}
		}
	}
	return c.Context.Value(key)
}

// nesting is a key for Context.Value. A lookup with this key finds a lease in ctx that would block an Acquire of the
// lock nesting.key.
type nesting struct {
	locker *Locker
	key    driver.Key
	token  Token // that of the holder, if the store has refused the lock; else zero
}

// in reports whether an Acquire of n.key would wait for the lease le: le is held, has the key n.key, and comes from the
// same backend, or is the grant that the store has named in its refusal. Such a grant may belong to another backend of
// the same store, for example the parent's lease of [FromEnvironment].
func (n nesting) in(le *Lease) bool {
	same := le.locker.hasStoreOf(n.locker) || n.token != 0 && n.token == le.Token() && le.Backend() == n.locker.caps.Backend
	return same && le.grant.Key == n.key && le.Err() == nil
}

// check returns an error if ctx carries a lease that the Acquire would wait for. The code that holds this lease waits
// for the Acquire, so the wait would never end.
func (n nesting) check(ctx context.Context) error {
	if le, ok := ctx.Value(n).(*Lease); ok {
		return &nestedError{n.key, le.Token(), le.Shared()}
	}
	return nil
}
