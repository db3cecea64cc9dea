package rowlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/oneline"
)

// acquisition holds the state of one call of Acquire or TryAcquire. All requests of the call carry the same nonce,
// so the store recognises a repeated request.
type acquisition struct {
	locker *Locker
	ctx    context.Context // the context that the caller gave
	key    driver.Key
	cfg    *settings

	progress

	started  time.Time
	attempts int
	doubt    doubt

	nested       error  // an ErrNested if the holder is a lease in ctx, so that a wait would never end; else nil
	err          error  // the last failure; nil after a refusal
	lastCertain  bool   // true if the request that failed last certainly had no effect
	waits        bool   // true while the locker counts this call among its waiting calls
	waitReported bool   // true if a Waiting event was emitted
	lease        *Lease // nil until a lease was granted and its renewals were scheduled
}

// verdict is the next step after an attempt that acquired no lease.
type verdict uint8

const (
	again   verdict = iota // retry: the store could not be reached, or its reply is missing
	refused                // wait: another holder has the name
	stop                   // give up: a retry will not help
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
	if err := (nesting{l, key, 0}).check(ctx); err != nil {
		return nil, err
	}
	return &acquisition{locker: l, ctx: ctx, key: key, cfg: cfg, progress: progress{nonce: driver.NewNonce()}, started: time.Now()}, nil
}

// acquire acquires a lease as [Locker.Acquire] does.
func (a *acquisition) acquire() (*Lease, error) {
	if a.cfg.waitSet && a.cfg.wait == 0 {
		return a.try()
	}
	return a.wait()
}

// run acquires a lease by calling its parameter, for example a.acquire. With the option [Fenced], run then seals the
// data for the new lease. A function of a [Trace] or a guard may panic or end the goroutine. In that case run releases
// the lease, because the locker would otherwise renew it indefinitely.
func (a *acquisition) run(by func() (*Lease, error)) (le *Lease, err error) {
	returned := false
	defer func() {
		if !returned && a.lease != nil {
			_ = a.lease.abandon(a.ctx)
		}
	}()
	le, err = by()
	if err != nil {
		a.failed(err)
	} else {
		le, err = a.sealed(le)
	}
	returned = true
	return le, err
}

// try sends one request, and does not wait for other holders. If the reply is missing, the method try repeats the
// request to learn the outcome.
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

// mayWaitAfter reports whether the call may wait after an attempt has failed with err.
func (a *acquisition) mayWaitAfter(err error) bool {
	over := a.cfg.waitSet && time.Since(a.started) >= a.cfg.wait
	return !over && a.ctx.Err() == nil && (errors.Is(err, ErrHeld) && !errors.Is(err, ErrNested) || errors.Is(err, ErrUnavailable))
}

// wait joins the queue of the waiters of this process. At the front of the queue, it sends requests until it acquires
// the name or gives up.
func (a *acquisition) wait() (*Lease, error) {
	a.locker.waiting.Enter()
	a.waits, a.poll = true, newPoll()
	defer func() {
		a.waits = false
		a.locker.waiting.Leave()
	}()
	w := &waiter{acquisition: a, place: a.locker.queues.join(a.request()), unbind: func() {}}
	defer func() {
		w.place.leave()
		w.unbind()
	}()
	le, next := w.reachFront()
	for le == nil && next != stop {
		le, next = w.askAndRest()
	}
	if le == nil {
		w.resign()
		return nil, a.giveUp()
	}
	w.place.excludes = !a.cfg.shared
	return le, nil
}

// attempt sends one request, and limits it by timeout.
func (a *acquisition) attempt(ctx context.Context, timeout time.Duration) (*Lease, verdict) {
	if a.waits {
		longer, leave := lingering(ctx)
		defer leave()
		ctx = longer
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return a.ask(ctx, a.plain)
}

// lingering returns a context that ends withdrawLimit after ctx has ended. A waiter that gives up still needs the reply
// to its last request, because only that reply says whether a grant must be released. Without it the driver would close
// the connection, and the janitor would release the name several times. On a slow server this takes longer than the
// reply.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(withdrawLimit, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// request returns the request to send to the store.
func (a *acquisition) request() driver.Request {
	return driver.Request{
		Key: a.key, Nonce: a.nonce, TTL: a.term(), Holder: a.cfg.holder, Note: a.cfg.note, Shared: a.cfg.shared,
		MinHold: a.cfg.minHold, HandoverDelay: a.cfg.handover, Seal: a.sealAs(), Waiting: a.held != nil, Waits: a.waits,
	}
}

// term returns the TTL to request: the TTL of the options, or less if the maximum hold is shorter.
func (a *acquisition) term() time.Duration {
	if a.cfg.maxHold == 0 {
		return a.cfg.ttl
	}
	return a.cfg.termFor(a.cfg.ttl, a.cfg.maxHold)
}

// way is a function that sends a request, with or without a wait in the store's queue. It also returns the time from
// which the TTL of a grant counts.
type way func(ctx context.Context, r driver.Request, sent clock.Instant) (driver.Grant, clock.Instant, error)

// ask sends one request with the function send, and records the outcome.
func (a *acquisition) ask(ctx context.Context, send way) (*Lease, verdict) {
	sent := a.sends()
	g, trustFrom, err := send(ctx, a.request(), sent)
	return a.replied(g, sent, trustFrom, err)
}

// sends counts a request that is about to be sent, and returns the time.
func (a *acquisition) sends() clock.Instant {
	sent := a.locker.clock()
	if a.attempts == 0 {
		a.answered = sent
	}
	a.attempts++
	return sent
}

// replied records the outcome of a request. The TTL of a grant counts from trustFrom.
func (a *acquisition) replied(g driver.Grant, sent, trustFrom clock.Instant, err error) (*Lease, verdict) {
	now := a.locker.clock()
	var held *driver.Held
	a.refusal = nil
	switch {
	case err == nil:
		began := sent
		if trustFrom.Since(sent) > 0 { // the wait was long, and a renewal has confirmed the grant
			began = trustFrom
		}
		return a.granted(g, began, trustFrom, now, series{began: began})
	case errors.As(err, &held):
		if held.Pending {
			a.recorded = true
			a.mayBeGranted(sent)
		}
		if held.Readers > 0 && a.waits && !a.cfg.shared && a.locker.awaiter == nil {
			a.recorded = true
		}
		a.refused(held, now)
		if a.nested != nil {
			return nil, stop
		}
		return nil, refused
	}
	unproven := g.Nonce == a.nonce // the store granted the request, but confirmIfLate could not confirm the grant
	a.err, a.lastCertain = err, driver.IsNotApplied(err) && !unproven
	if !a.lastCertain {
		last := sent
		if unproven {
			last = now
		}
		a.doubt.add(1, last)
		a.mayBeGranted(sent)
	}
	if a.nested != nil || driver.IsPermanent(err) || now.Since(a.answered) >= outageLimit(a.cfg.ttl) {
		return nil, stop
	}
	return nil, again
}

// plain sends a request that does not wait in the store's queue. If the store may have granted an earlier request, the
// TTL counts from before that request.
func (a *acquisition) plain(ctx context.Context, r driver.Request, sent clock.Instant) (driver.Grant, clock.Instant, error) {
	g, err := a.locker.backend.Acquire(ctx, r)
	if err == nil && a.trustFrom != (clock.Instant{}) {
		return a.confirmIfLate(ctx, g, a.trustFrom)
	}
	return g, sent, err
}

// confirmIfLate returns the grant g and the time from which its TTL counts. The store may have made the grant at any
// time since the time in the parameter from. If that is long ago, confirmIfLate renews the grant, and the TTL counts
// from just before the renewal was sent. If the renewal has no reply, the outcome of the grant is unknown. The store has
// just replied, so the length of an outage counts from now.
func (a *acquisition) confirmIfLate(ctx context.Context, g driver.Grant, from clock.Instant) (driver.Grant, clock.Instant, error) {
	now := a.locker.clock()
	if now.Since(from) < a.cfg.renewEvery {
		return g, from, nil
	}
	a.answered = now
	ctx, cancel := context.WithTimeout(ctx, callTimeout(a.cfg.ttl))
	defer cancel()
	outcomes, err := a.locker.backend.Renew(ctx, []driver.Grant{g})
	if err == nil && (len(outcomes) != 1 || outcomes[0] != driver.Renewed) {
		err = errNoOutcome
	}
	return g, now, err
}

// refused records who holds the name. A refusal without details, for example after an interrupted wait, does
// not replace the previous refusal.
func (a *acquisition) refused(held *driver.Held, now clock.Instant) {
	a.answered, a.err, a.refusal = now, nil, held
	a.nested = nesting{a.locker, a.key, held.Token}.check(a.ctx)
	if a.held == nil || *held != (driver.Held{Reason: driver.Leased}) {
		a.held = newHeldError(a.key, held, now.At)
	}
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(HeldByOtherEvent) { return t.HeldByOther }, HeldByOtherEvent{lockInfo(a.key, a.cfg.holder), a.held})
	})
}

// granted turns a grant into a lease. If a grant comes too late, granted counts its request as one of unknown outcome,
// and the grant is released later. A grant is too late after the deadline, after the caller has given up, or after the
// locker was closed. The maximum and the minimum hold count from began, and the TTL counts from trustFrom.
func (a *acquisition) granted(g driver.Grant, began, trustFrom, now clock.Instant, part series) (*Lease, verdict) {
	numbered := g.Token > 0 || g.Token == 0 && (a.locker.caps.Token == driver.NoToken || g.Shared)
	if !numbered || g.Nonce != a.nonce || g.Key != a.key || g.Shared != a.cfg.shared || g.TTL <= 0 {
		a.err = fmt.Errorf("the backend returned an invalid grant %+v for nonce %s", g, a.nonce)
		a.doubt.add(1, began)
		return nil, stop
	}
	le := newLease(a, g, began, trustFrom)
	le.series = part
	if a.locker.closing.Err() != nil || a.ctx.Err() != nil || le.left(now) <= 0 || !a.locker.renewals.add(le) {
		a.err, a.lastCertain = errors.New("the grant came too late"), false
		a.doubt.add(1, began)
		if a.locker.closing.Err() != nil || a.ctx.Err() != nil || now.Since(a.answered) >= outageLimit(a.cfg.ttl) {
			return nil, stop
		}
		return nil, again
	}
	a.lease = le
	le.watch()
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(AcquiredEvent) { return t.Acquired },
			AcquiredEvent{le.info(), time.Since(a.started), a.attempts, a.doubt.requests, g.TTL, le.series.handed > 0, a.ctx})
	})
	return le, stop
}

// giveUp releases each grant that the store may have made for this call, and returns the error of the call.
func (a *acquisition) giveUp() error {
	grant := driver.Grant{Key: a.key, Nonce: a.nonce, TTL: a.cfg.ttl, Shared: a.cfg.shared}
	switch {
	case a.doubt.requests > 0:
		resolve := a.locker.janitor.take
		if a.recorded {
			resolve = a.locker.janitor.withdraw
		}
		a.tell(resolve(a.doubt.leftover(a.cfg, grant)))
	case a.recorded:
		a.tell(a.locker.janitor.withdraw(leftover{cfg: a.cfg, grant: grant, since: a.locker.clock(), certain: true, recorded: true}))
	}
	return a.failure()
}

// count adds the numbers of requests of the other acquisitions to the numbers of a. The event AcquireFailed of a call
// with several names reports the sums.
func (a *acquisition) count(others []*acquisition) {
	for _, other := range others {
		if other != a {
			a.attempts += other.attempts
			a.doubt.requests += other.doubt.requests
		}
	}
}

// failed emits the event AcquireFailed with err.
func (a *acquisition) failed(err error) {
	a.tell(func() {
		emit(a.cfg, func(t *Trace) func(AcquireFailedEvent) { return t.AcquireFailed },
			AcquireFailedEvent{lockInfo(a.key, a.cfg.holder), err, time.Since(a.started), a.attempts, a.doubt.requests, a.ctx})
	})
}

// failure returns the error of a call that acquired no lease.
func (a *acquisition) failure() error {
	if a.locker.closing.Err() != nil {
		return ErrClosed
	}
	if a.nested != nil {
		return a.nested
	}
	if a.err != nil && (a.held == nil || a.ctx.Err() == nil) { // the last reply was not a refusal
		failure := error(&opError{"acquire", a.key, ErrUnavailable, a.err})
		return oneline.Join(failure, a.ctx.Err())
	}
	// A waiter that never reached the front of the queue has no refusal of its own, but the name is held.
	refusal := HeldError{Namespace: a.key.Namespace, Name: a.key.Name}
	if a.held != nil {
		refusal = *a.held
	}
	if a.waitReported {
		refusal.Waited = time.Since(a.started)
	}
	if a.ctx.Err() == nil {
		return &refusal
	}
	return oneline.Join(&refusal, fmt.Errorf("rowlock: acquire %s: %w", excerpt(a.key.String()), a.ctx.Err()))
}

// tell calls f, which calls functions of a Trace. Such a function may call Close, and this Close would then wait for
// its own caller. Therefore Close waits for this waiter for 100 ms at most while f runs.
func (a *acquisition) tell(f func()) {
	if a.waits {
		a.locker.waiting.Tell(f)
		return
	}
	f()
}
