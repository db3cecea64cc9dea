package rowlock

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

// grantSealer is implemented by a guard whose marks the backend can raise as part of a grant, if the guard and the
// backend use the same database handle and table.
type grantSealer interface {
	// SealPlace returns the place where the guard stores its marks, and the token domain of name. The parameter store
	// is the name of the backend that grants the tokens. The parameter asked is the guard that was given to [Fenced].
	// If asked is another guard that embeds this guard, SealPlace returns the zero Place.
	SealPlace(asked Sealer, store, name string) (place driver.Place, domain string)
}

// sealAs returns the fence domain that the store must seal together with the grant (see [driver.Request]), or "" if the
// store must seal nothing.
func (a *acquisition) sealAs() string {
	guard, ok := a.cfg.guard.(grantSealer)
	if !ok || a.cfg.shared || a.locker.caps.SealsAt == (driver.Place{}) {
		return ""
	}
	place, domain := guard.SealPlace(a.cfg.guard, a.locker.caps.Backend, a.key.Name)
	if place != a.locker.caps.SealsAt {
		return ""
	}
	return domain
}

// sealed seals a new lease, unless the grant has already sealed it. The sealing stops when the caller's ctx or the
// lease ends. If the sealing fails, the method releases the lease.
func (a *acquisition) sealed(le *Lease) (*Lease, error) {
	if !a.cfg.fenced || le.grant.Sealed {
		return le, nil
	}
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	defer context.AfterFunc(le.ctx, func() { cancel(context.Cause(le.ctx)) })()
	err := a.cfg.guard.Seal(ctx, le)
	if err == nil {
		err = le.Err()
	}
	if err == nil {
		return le, nil
	}
	err = addLoss(err, le.abandon(a.ctx))
	if a.locker.closing.Err() != nil {
		return nil, ErrClosed
	}
	return nil, fmt.Errorf("rowlock: seal %s: %w", excerpt(a.key.String()), err)
}
