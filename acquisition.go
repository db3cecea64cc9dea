package rowlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/crew"
	"github.com/rowlock/rowlock/internal/oneline"
)

// acquisition is one call's way to a lease. It has one nonce, however often it asks, so that the
// store recognises a request whose reply was lost.
type acquisition struct {
	locker *Locker
	ctx    context.Context // the caller's
	key    driver.Key
	cfg    *settings
	nonce  driver.Nonce

	started  time.Time
	answered clock.Instant // when the store last said anything of use
	attempts int
	doubt    doubt

	left        bool          // the store has taken note of a request, and may grant it by itself
	pending     clock.Instant // before the first request was sent that the store may grant by itself; zero: there is none
	held        *HeldError    // the last refusal
	refusal     *driver.Held  // the answer to the last request, nil if that was none
	err         error         // the last failure, nil after a refusal
	lastCertain bool          // the last failure certainly had no effect
	among       *crew.Crew    // the waiters, for as long as it is one of them; else nil
	told        bool          // that it waits
	lease       *Lease        // once it is renewed
}

// verdict is what to do after an attempt that brought no lease.
type verdict uint8

const (
	again   verdict = iota // the store could not be asked, or its reply is missing
	refused                // somebody else holds the name
	stop                   // asking again will not help
)

func (l *Locker) newAcquisition(ctx context.Context, name string, opts []Option) (*acquisition, error) {
	cfg, err := l.configure(opts)
	if err != nil {
		return nil, err
	}
	key, err := newKey(cfg.namespace, name)
	if err != nil {
		return nil, err
	}
	if l.closing.Err() != nil {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("rowlock: acquire %s: %w", excerpt(key.String()), err)
	}
	if err := (nesting{l, key}).check(ctx); err != nil {
		return nil, err
	}
	nonce := driver.NewNonce()
	return &acquisition{locker: l, ctx: ctx, key: key, cfg: cfg, nonce: nonce, started: time.Now(), doubt: doubt{nonce: nonce}}, nil
}

// run acquires by one of the two below and seals. A function of a [Trace] or a guard that panics, or ends the
// goroutine, leaves no lease behind that nobody has and that is renewed for ever.
func (a *acquisition) run(by func() (*Lease, error)) (le *Lease, err error) {
	returned := false
	defer func() {
		if !returned && a.lease != nil {
			_ = a.lease.abandon(a.ctx)
		}
	}()
	le, err = a.sealed(by())
	returned = true
	return le, err
}

// try makes one attempt, and another only to learn what became of it.
func (a *acquisition) try() (*Lease, error) {
	timeout := callTimeout(a.cfg.ttl)
	ctx, cancel := context.WithTimeout(a.ctx, timeout)
	defer cancel()
	retry := backoff.Backoff{Next: 10 * time.Millisecond, Most: 200 * time.Millisecond}
	for {
		lease, next := a.attempt(ctx, timeout/2)
		if lease != nil {
			return lease, nil
		}
		if next != again || a.lastCertain || !backoff.Sleep(ctx, retry.Step()) {
			return nil, a.giveUp()
		}
	}
}

// wait queues behind the waiters of this process, and then asks until the name is had.
func (a *acquisition) wait() (*Lease, error) {
	a.among = &a.locker.waiters
	a.among.Enter()
	defer func() {
		a.among.Leave()
		a.among = nil
	}()
	w := &waiter{acquisition: a, place: a.locker.queues.join(a.key), poll: newPoll(), unbind: func() {}}
	defer func() {
		w.place.leave()
		w.unbind()
	}()
	le, next := w.comeFirst()
	for le == nil && next != stop {
		le, next = w.turn()
	}
	if le == nil {
		return nil, a.giveUp()
	}
	w.place.served = true
	return le, nil
}

// attempt asks the store once.
func (a *acquisition) attempt(ctx context.Context, timeout time.Duration) (*Lease, verdict) {
	if a.left {
		longer, leave := lingering(ctx)
		defer leave()
		ctx = longer
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return a.ask(ctx, a.plain)
}

// lingering outlives ctx by a moment. Who gives up while a request is under way, and has left one with the store, needs
// the answer: without it nobody knows what there is to withdraw.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { // or ends with what it is for
		timer := time.NewTimer(withdrawLimit)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// request is what the store is asked for.
func (a *acquisition) request() driver.Request {
	return driver.Request{
		Key: a.key, Nonce: a.nonce, TTL: a.term(), Holder: a.cfg.holder, Note: a.cfg.note,
		MinHold: a.cfg.minHold, HandoverDelay: a.cfg.handover, Seal: a.sealAs(), Waiting: a.held != nil, Waits: a.among != nil,
	}
}

// term is how long the store is asked to hold the name.
func (a *acquisition) term() time.Duration {
	if a.cfg.maxHold == 0 {
		return a.cfg.ttl
	}
	return a.cfg.termFor(a.cfg.ttl, a.cfg.maxHold)
}

// sealAs is the domain in which the grant is to seal; empty if it is not.
func (a *acquisition) sealAs() string {
	guard, ok := a.cfg.guard.(grantSealer)
	if !ok || a.locker.caps.SealsAt == (driver.Place{}) {
		return ""
	}
	place, domain := guard.SealedByGrant(a.cfg.guard, a.locker.caps.Backend, a.key.Name)
	if place != a.locker.caps.SealsAt {
		return ""
	}
	return domain
}

// way is how a request is made. It returns the moment from which a grant counts, which is sent or a later one.
type way func(ctx context.Context, r driver.Request, sent clock.Instant) (driver.Grant, clock.Instant, error)

// ask makes one request.
func (a *acquisition) ask(ctx context.Context, by way) (*Lease, verdict) {
	sent := a.locker.clock()
	if a.attempts == 0 {
		a.answered = sent
	}
	a.attempts++
	g, trusted, err := by(ctx, a.request(), sent)
	now := a.locker.clock()
	var held *driver.Held
	a.refusal = nil
	switch {
	case err == nil && g.Earlier: // it is held from now on, whatever it is trusted for
		return a.granted(g, sent, trusted, now, burst{})
	case err == nil:
		return a.granted(g, trusted, trusted, now, burst{})
	case errors.As(err, &held):
		if held.Pending {
			a.left = true
			a.mayBeGranted(sent)
		}
		a.refused(held, now)
		return nil, refused
	}
	unproven := g.Nonce == a.nonce // granted, and by the wait for it not known when
	a.err, a.lastCertain = err, driver.IsNotApplied(err) && !unproven
	if !a.lastCertain {
		a.doubt.requests++
		a.doubt.last = sent
		if unproven {
			a.doubt.last = now
		}
		a.mayBeGranted(sent)
	}
	if driver.IsPermanent(err) || now.Since(a.answered) >= outageLimit(a.cfg.ttl) {
		return nil, stop
	}
	return nil, again
}

func (a *acquisition) plain(ctx context.Context, r driver.Request, sent clock.Instant) (driver.Grant, clock.Instant, error) {
	g, err := a.locker.backend.Acquire(ctx, r)
	if err == nil && g.Earlier {
		return a.afterWait(ctx, g, a.pending, nil)
	}
	return g, sent, err
}

// afterWait asks the store whether a grant still holds, if the wait for it was long, and counts the trust in it from
// that request. Without an answer the grant is in doubt. The store answered at the end of the wait, so the outage counts from then.
//
// A wait that failed does not tell when the store last answered, only that the backend would have given up much later
// without an answer. So the outage counts as half of its limit.
func (a *acquisition) afterWait(ctx context.Context, g driver.Grant, sent clock.Instant, err error) (driver.Grant, clock.Instant, error) {
	now := a.locker.clock()
	if err != nil {
		if silent := outageLimit(a.cfg.ttl) / 2; now.Since(a.answered) > silent {
			a.answered = clock.Instant{At: now.At.Add(-silent), Suspended: now.Suspended}
		}
		return g, sent, err
	}
	if now.Since(sent) < a.cfg.renewEvery {
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

// refused notes who holds the name. A refusal that tells nothing, as that of a wait that was cut short, leaves the one before.
func (a *acquisition) refused(held *driver.Held, now clock.Instant) {
	a.answered, a.err, a.refusal = now, nil, held
	if a.held == nil || *held != (driver.Held{Reason: driver.Leased}) {
		a.held = newHeldError(a.key, held, now.At)
	}
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(HeldByOtherEvent) { return t.HeldByOther }, HeldByOtherEvent{lockInfo(a.key, a.cfg.holder), a.held})
	})
}

// mayBeGranted notes that the store may grant by itself what was sent then; so it may if the reply was lost.
func (a *acquisition) mayBeGranted(sent clock.Instant) {
	if a.pending == (clock.Instant{}) {
		a.pending = sent
	}
}

// granted makes a lease of a grant, unless it came too late to be of use: after the deadline, after
// the caller gave up, or after the locker was closed. Then it is given back.
func (a *acquisition) granted(g driver.Grant, sent, trusted, now clock.Instant, part burst) (*Lease, verdict) {
	numbered := g.Token > 0 || g.Token == 0 && a.locker.caps.Token == driver.NoToken
	unasked := g.Earlier && a.pending == (clock.Instant{})
	if unasked || !numbered || g.Nonce != a.nonce || g.Key != a.key || g.TTL <= 0 {
		a.err = fmt.Errorf("the backend granted %+v for nonce %s", g, a.nonce)
		a.doubt.requests, a.doubt.last = a.doubt.requests+1, sent
		return nil, stop
	}
	le := newLease(a, g, sent, trusted)
	le.burst = part
	if a.locker.closing.Err() != nil || a.ctx.Err() != nil || le.left(now) <= 0 || !a.locker.renewals.add(le) {
		a.err, a.lastCertain = errors.New("the grant came too late to be used"), false
		a.doubt.requests, a.doubt.last = a.doubt.requests+1, sent
		if a.locker.closing.Err() != nil || a.ctx.Err() != nil || now.Since(a.answered) >= outageLimit(a.cfg.ttl) {
			return nil, stop
		}
		return nil, again
	}
	a.lease = le
	le.watch()
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(AcquiredEvent) { return t.Acquired },
			AcquiredEvent{le.info(), time.Since(a.started), a.attempts, a.doubt.requests, g.TTL, le.burst.handed > 0, a.ctx})
	})
	return le, stop
}

// sealed seals a lease that was just acquired, unless the grant did. It ends with the caller's ctx and
// with the lease.
func (a *acquisition) sealed(le *Lease, err error) (*Lease, error) {
	if err != nil || !a.cfg.fenced || le.grant.Sealed {
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
	if released := le.abandon(a.ctx); errors.Is(released, ErrLost) && !errors.Is(err, ErrLost) {
		err = oneline.Join(err, released)
	}
	if a.locker.closing.Err() != nil {
		return nil, ErrClosed
	}
	return nil, fmt.Errorf("rowlock: seal %s: %w", excerpt(a.key.String()), err)
}

// giveUp takes back what may have been granted, and says why there is no lease.
func (a *acquisition) giveUp() error {
	if a.doubt.requests > 0 {
		takeBack := a.locker.janitor.take
		if a.left {
			takeBack = a.locker.janitor.withdraw
		}
		a.tell(takeBack(a.doubt.leftover(a.cfg, driver.Grant{Key: a.key, TTL: a.cfg.ttl})))
	} else if a.pending != (clock.Instant{}) {
		a.tell(a.locker.janitor.withdraw(leftover{
			cfg: a.cfg, grant: driver.Grant{Key: a.key, Nonce: a.nonce, TTL: a.cfg.ttl},
			since: a.locker.clock(), certain: true, pending: true,
		}))
	}
	err := a.failure()
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(AcquireFailedEvent) { return t.AcquireFailed },
			AcquireFailedEvent{lockInfo(a.key, a.cfg.holder), err, time.Since(a.started), a.attempts, a.doubt.requests, a.ctx})
	})
	return err
}

// failure is why there is no lease.
func (a *acquisition) failure() error {
	if a.locker.closing.Err() != nil {
		return ErrClosed
	}
	if a.err != nil && (a.held == nil || a.ctx.Err() == nil) { // the last word was a failure, not a refusal
		failure := error(&opError{"acquire", a.key, ErrUnavailable, a.err})
		return oneline.Join(failure, a.ctx.Err())
	}
	// A waiter that never came to the front has no refusal of its own, and was refused all the same.
	refusal := HeldError{Namespace: a.key.Namespace, Name: a.key.Name}
	if a.held != nil {
		refusal = *a.held
	}
	if a.told {
		refusal.Waited = time.Since(a.started)
	}
	if a.ctx.Err() == nil {
		return &refusal
	}
	return oneline.Join(&refusal, fmt.Errorf("rowlock: acquire %s: %w", excerpt(a.key.String()), a.ctx.Err()))
}

func (a *acquisition) waiting(ahead int) {
	if a.told {
		return
	}
	a.told = true
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(WaitingEvent) { return t.Waiting }, WaitingEvent{lockInfo(a.key, a.cfg.holder), ahead})
	})
}

// tell calls f, which calls functions of a Trace: one of them may call Close, which waits for waiters.
func (a *acquisition) tell(f func()) {
	if a.among != nil {
		a.among.Tell(f)
		return
	}
	f()
}

// doubt is what is known of requests whose replies are missing: they may have been applied, or may
// yet be.
type doubt struct {
	requests int
	last     clock.Instant // before the last of them was sent
	nonce    driver.Nonce
}

// leftover is a grant of any token that d's requests may have been given.
func (d doubt) leftover(cfg *settings, g driver.Grant) leftover {
	g.Nonce, g.Token = d.nonce, 0
	return leftover{cfg: cfg, grant: g, since: d.last, certain: false, requests: d.requests}
}
