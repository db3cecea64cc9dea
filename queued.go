package rowlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// queued waits in the store's own queue, after a refusal.
func (a *acquisition) queued(ctx context.Context) (*Lease, verdict) {
	lease, next := a.ask(ctx, func(ctx context.Context, r driver.Request, sent instant) (driver.Grant, instant, error) {
		g, err := a.locker.queuer.AcquireQueued(ctx, r)
		return a.afterWait(ctx, g, sent, err)
	})
	a.overIsNoFailure(ctx, lease)
	return lease, next
}

// enter asks, and takes a place in the store's queue by the same request if the name is held: then it calls
// waiting for the context of the wait, and again if it learns only later by whom. Until then it is an attempt like
// any other.
func (a *acquisition) enter(waiting func() context.Context) (_ *Lease, _ verdict, waited bool) {
	ctx, cancel := context.WithTimeout(a.ctx, callTimeout(a.cfg.ttl))
	defer cancel()
	var wait context.Context
	lease, next := a.ask(ctx, func(ctx context.Context, r driver.Request, sent instant) (driver.Grant, instant, error) {
		g, err := a.locker.enterer.Enter(ctx, r, func(held *driver.Held) context.Context {
			if held != nil {
				a.refused(held, a.locker.clock())
			} else {
				a.answered, a.err = a.locker.clock(), nil
			}
			wait = waiting()
			return wait
		})
		if wait == nil {
			return g, sent, err
		}
		return a.afterWait(wait, g, sent, err)
	})
	if wait != nil {
		a.overIsNoFailure(wait, lease)
	}
	return lease, next, wait != nil
}

// overIsNoFailure is for a wait that is over: the last word is then the refusal before it.
func (a *acquisition) overIsNoFailure(wait context.Context, lease *Lease) {
	if lease == nil && wait.Err() != nil && errors.Is(a.err, wait.Err()) {
		a.err = nil
	}
}

// afterWait counts the trust in a grant from a moment after the wait for it, if the wait was long: the store is
// asked again whether it holds. Without an answer it is as if the grant had not arrived.
//
// Of a wait that failed it is not known when the store was last heard, but that the backend would not have waited
// much longer without. So the store is asked for half as long again as one that says nothing from the start.
func (a *acquisition) afterWait(ctx context.Context, g driver.Grant, sent instant, err error) (driver.Grant, instant, error) {
	now := a.locker.clock()
	if err != nil {
		if silent := outageLimit(a.cfg.ttl) / 2; now.since(a.answered) > silent {
			a.answered = instant{at: now.at.Add(-silent), suspended: now.suspended}
		}
		return g, sent, err
	}
	if now.since(sent) < a.cfg.renewEvery {
		return g, sent, nil
	}
	a.answered = now
	ctx, cancel := context.WithTimeout(ctx, callTimeout(a.cfg.ttl))
	defer cancel()
	sent = now
	outcomes, err := a.locker.backend.Renew(ctx, []driver.Grant{g})
	if err == nil && (len(outcomes) != 1 || outcomes[0] != driver.Renewed) {
		err = errUntold
	}
	return g, sent, err
}
