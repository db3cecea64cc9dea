package rowlock

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/inherit"
)

// ErrNoLease: the process has not inherited a lease, because the environment variable ROWLOCK_LEASE is not set.
var ErrNoLease = errors.New("rowlock: ROWLOCK_LEASE is not set: this process was not started by \"rowlock run\"")

// FromEnvironment returns the lease under which "rowlock run" has started this process. "rowlock run" is the parent. It
// passes a description of its lease in the environment variable ROWLOCK_LEASE. A process that the command has started
// may call FromEnvironment, too. It must run on the same machine and as the same user.
//
// The context that FromEnvironment also returns is derived from ctx. It ends when ctx ends, or when the lease is no
// longer trusted. [FromContext] returns the lease from it, so the calls of package fence accept it. ctx also limits
// the connection to the parent, which takes a few seconds at most.
//
// The process keeps a connection to its parent, and asks it to renew the lease. Trust in the lease ends no later than
// the trust of the parent. It ends at once when the parent dies, loses the lease or releases it. It ends by the clock
// of this process when the parent is suspended. [Lease.Release] ends the trust of this process, and never the lock.
// ReleaseWith, and therefore ReleaseOnCommit of package fence, returns an [errors.ErrUnsupported]: only the parent can
// release the lock. A process that ends without a call of Release leaves nothing behind.
//
// The error is one of these:
//
//   - [ErrNoLease], if ROWLOCK_LEASE is not set.
//   - An error that names the field, if ROWLOCK_LEASE is malformed, or has a version that this package does not
//     understand.
//   - [ErrLost], if the parent is gone, or no longer has the lease.
//   - [ErrUnavailable], if the parent did not answer in time, could not renew the lease, or runs as another user.
func FromEnvironment(ctx context.Context) (context.Context, *Lease, error) {
	value := os.Getenv(inherit.Variable)
	if value == "" {
		return nil, nil, ErrNoLease
	}
	from, err := inherit.Parse(value)
	if err != nil {
		return nil, nil, fmt.Errorf("rowlock: %s: %w", inherit.Variable, err)
	}
	lease, err := inheritFrom(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	inner, _ := lease.ctx.scope(ctx) // ends with the lease at the latest
	return inner, lease, nil
}

// inheritFrom returns the lease of a parent. A Locker of its own renews the lease: the parent is its store. The lease
// needs no margin, because the parent's trust, from which the TTL is computed, already has one.
func inheritFrom(ctx context.Context, from inherit.Lease) (*Lease, error) {
	opts := []Option{Namespace(from.Key.Namespace), Holder(from.Holder), TTL(min(max(from.TTL, minTTL), maxTTL)), Margin(0)}
	if from.Shared {
		opts = append(opts, Shared())
	}
	parent := inherit.NewBackend(from)
	locker, err := newLocker(parent, clock.System, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inherit.Variable, err)
	}
	a, err := locker.newAcquisition(ctx, from.Key.Name, nil)
	if err != nil {
		return nil, err
	}
	a.nonce = from.Nonce // with the nonce of its grant, a store grants the same lease again
	lease, err := a.run(a.try)
	if err != nil {
		_ = parent.Release(ctx, driver.Grant{Key: a.key, Nonce: a.nonce, Token: from.Token}) // ends the connection
	}
	if failed := (*opError)(nil); errors.As(err, &failed) {
		failed.op = "inherit"
	}
	if errors.Is(err, inherit.ErrGone) {
		return nil, &LostError{Namespace: from.Key.Namespace, Name: from.Key.Name, Token: from.Token, Reason: LostSession}
	}
	return lease, err
}

// errInherited is the error of a call that would release the parent's lock.
var errInherited = fmt.Errorf("the lock belongs to the process that started this one, which releases it: %w", errors.ErrUnsupported)

// inherited reports whether the lease belongs to a parent process. See [FromEnvironment].
func (le *Lease) inherited() bool {
	_, ok := le.locker.backend.(*inherit.Backend)
	return ok
}
