package rowlock

import (
	"context"
	"errors"
	"fmt"
)

// Sealer makes a resource refuse every holder that is older than a lease. The guards of package
// fence are Sealers.
type Sealer interface {
	// Seal raises the marks of the resources to the lease's token, before the holder's first read.
	// Without resources it is the lock's own name. When it returns nil, all that older holders did
	// is visible, and nothing more of theirs can follow. ctx bounds it.
	Seal(ctx context.Context, lease *Lease, resources ...string) error
}

// Fenced makes Acquire, TryAcquire, Do and TryDo seal with guard before they return or begin: from
// then on the resource refuses the writes of every older holder that checks. When sealing fails,
// the lease is released and the call fails with the reason.
func Fenced(guard Sealer) Option {
	return func(s *settings) { s.guard, s.fenced = guard, true }
}

var errNoGuard = errors.New("rowlock: Fenced(nil): want a guard")

// sealed seals a lease that was just acquired. It ends with the caller's ctx and with the lease.
func (a *acquisition) sealed(le *Lease, err error) (*Lease, error) {
	if err != nil || !a.cfg.fenced {
		return le, err
	}
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	defer context.AfterFunc(le.ctx, func() { cancel(context.Cause(le.ctx)) })()
	err = a.cfg.guard.Seal(ctx, le)
	if err == nil {
		err = le.Err()
	}
	if err == nil {
		return le, nil
	}
	if released := le.Release(a.ctx); errors.Is(released, ErrLost) && !errors.Is(err, ErrLost) {
		err = errors.Join(err, released)
	}
	return nil, fmt.Errorf("rowlock: seal %s: %w", excerpt(a.key.String()), err)
}
