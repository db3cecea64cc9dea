package rowlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// watch ends le as soon as its session does.
func (le *Lease) watch() {
	if le.locker.sessions == nil {
		return
	}
	stop := context.AfterFunc(le.locker.sessions.Session(le.grant), func() { le.lose(LostSession) })
	le.mu.Lock()
	le.stopWatching = stop
	over := le.err != nil
	le.mu.Unlock()
	if over {
		stop()
	}
}

// unwatch lets go of the session of a lease that has ended.
func (le *Lease) unwatch() {
	le.mu.Lock()
	stop := le.stopWatching
	le.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// letSessionGo takes back at once what the store would keep for as long as the holder hangs: that is
// what a maximum hold is for. After other losses the name waits for the holder's Release, which is the
// safer way where the store itself does not take the name away.
func (le *Lease) letSessionGo(reason LostReason) {
	if le.locker.sessions != nil && reason == LostMaxHold {
		le.locker.janitor.takeBack(le.leftover())
	}
}

// queued waits in the store's own queue. That the wait is over is no failure: the last word is then
// the refusal before it.
func (a *acquisition) queued(ctx context.Context) (*Lease, verdict) {
	lease, next := a.ask(ctx, true)
	if lease == nil && ctx.Err() != nil && errors.Is(a.err, ctx.Err()) {
		a.err = nil
	}
	return lease, next
}

// proven waits in the store's queue, and counts the trust in a grant from a moment after the wait for
// it, if the wait was long: the store is asked again whether it holds. Without an answer it is as if
// the grant had not arrived.
func (a *acquisition) proven(ctx context.Context, r driver.Request, sent instant) (driver.Grant, instant, error) {
	g, err := a.locker.queuer.AcquireQueued(ctx, r)
	if err != nil || a.locker.clock().since(sent) < a.cfg.renewEvery {
		return g, sent, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout(a.cfg.ttl))
	defer cancel()
	sent = a.locker.clock()
	outcomes, err := a.locker.backend.Renew(ctx, []driver.Grant{g})
	if err == nil && (len(outcomes) != 1 || outcomes[0] != driver.Renewed) {
		err = errUntold
	}
	return g, sent, err
}
