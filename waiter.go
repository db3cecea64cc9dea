package rowlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
)

// errWaitOver is the cause of a wait that ended by the option Wait.
var errWaitOver = errors.New("wait is over")

// waiter is an acquisition that waits. It stands in the queue of this process. As the first there it asks the store, and
// between two requests it rests: then a release of this process may hand it the name.
type waiter struct {
	*acquisition
	place      *place
	poll       poll
	bound      context.Context // ends when the wait does; nil until it begins
	unbind     func()
	subscribed bool
}

// limit is a context that ends when the caller's does, when its Wait is over, or when the locker is closed. It is made
// when the wait begins: who need not wait pays nothing for it.
func (w *waiter) limit() context.Context {
	if w.bound != nil {
		return w.bound
	}
	ctx, cancel := context.WithCancelCause(w.ctx)
	if w.locker.closing.Err() != nil { // AfterFunc would take a moment, in which a waiter subscribes
		cancel(ErrClosed)
	}
	stopClosing := context.AfterFunc(w.locker.closing, func() { cancel(ErrClosed) })
	stopTimer := func() {}
	if w.cfg.waitSet {
		ctx, stopTimer = context.WithTimeoutCause(ctx, w.cfg.wait-time.Since(w.started), errWaitOver)
	}
	w.bound, w.unbind = ctx, func() {
		stopTimer()
		stopClosing()
		cancel(nil)
	}
	return ctx
}

// comeFirst waits until nobody of this process stands before the waiter. Where the one before has just got the name,
// it rests, because the name is not to be had.
func (w *waiter) comeFirst() (*Lease, verdict) {
	if w.place.ahead == 0 {
		return nil, again
	}
	ctx := w.limit()
	w.waiting(w.place.ahead)
	select {
	case <-w.place.first:
	case <-ctx.Done():
	}
	w.held = w.place.refusal() // whoever stood before has just been granted the name, most likely
	switch {
	case ctx.Err() != nil:
		return nil, stop
	case w.follows():
		return w.rest(w.poll.next(nil, true))
	}
	return nil, again
}

// turn asks the store, and rests if it is refused.
func (w *waiter) turn() (le *Lease, next verdict) {
	began := time.Now()
	waited := false // in the store's queue
	if w.locker.awaiter != nil {
		le, next, waited = w.await()
	} else {
		le, next = w.attempt(w.ctx, callTimeout(w.cfg.ttl))
	}
	if le != nil || next == stop || w.limit().Err() != nil {
		return le, stop
	}
	if next == refused {
		w.place.refused(w.held)
		w.waiting(0)
		if w.subscribe() && !w.refusal.Pending {
			return nil, again // it may have become free before the store was told to tell us
		}
	}
	woken := waited || w.follows() || w.place.notified() && w.locker.Capabilities().Wakes
	pause := w.poll.next(w.refusal, woken)
	if waited {
		pause -= time.Since(began)
	}
	return w.rest(pause)
}

// await asks, and waits in the store's queue if the name is held. Until then it is an attempt like any other.
func (w *waiter) await() (_ *Lease, _ verdict, waited bool) {
	ctx, cancel := context.WithTimeout(w.ctx, callTimeout(w.cfg.ttl))
	defer cancel()
	failed := w.err != nil
	le, next := w.ask(ctx, func(ctx context.Context, r driver.Request, sent clock.Instant) (driver.Grant, clock.Instant, error) {
		r.Waiting = r.Waiting && !failed // after a failure, first whether the store is there
		g, err := w.locker.awaiter.Await(ctx, r, func(held *driver.Held) context.Context {
			waited = true
			if held != nil {
				w.refused(held, w.locker.clock())
			} else {
				w.answered, w.err = w.locker.clock(), nil
			}
			if w.held != nil {
				w.place.refused(w.held)
			}
			w.waiting(0)
			return w.limit()
		})
		if !waited {
			return g, sent, err
		}
		return w.afterWait(w.bound, g, sent, err)
	})
	if over := waited && w.bound.Err() != nil; over && le == nil && errors.Is(w.err, w.bound.Err()) {
		w.err = nil // the last word is the refusal before
	}
	return le, next, waited
}

// subscribe asks the store to tell when the name may be free, and says whether it now does and did not before.
// Whoever comes to the front of the queue finds that its predecessor has asked.
func (w *waiter) subscribe() bool {
	if w.locker.notifier == nil || w.subscribed {
		return false
	}
	w.subscribed = true // once: where it fails, the poll does
	if w.place.notified() {
		return false
	}
	ctx, cancel := context.WithTimeout(w.ctx, callTimeout(w.cfg.ttl))
	defer cancel()
	stop, err := w.locker.notifier.Notify(ctx, w.key, func() { w.locker.queues.wake(w.key) })
	if err != nil {
		return false
	}
	w.place.notifiedUntil(stop)
	return true
}

// follows says whether whoever stood before has just got the name, so that it is not to be had. Its release
// wakes or hands over; whatever else ends it is found by the poll.
func (w *waiter) follows() bool {
	return w.place.ahead > 0 && w.held != nil && w.locker.handing != nil && w.place.passed()
}

// rest pauses until d has passed, the waiter is woken, or its wait is over; or until a release has handed the name over.
func (w *waiter) rest(d time.Duration) (*Lease, verdict) {
	ctx, timer := w.limit(), time.NewTimer(d)
	defer timer.Stop()
	for {
		h := w.heir()
		var result chan handOver // gets nothing unless a release may take the waiter
		if h != nil {
			result = h.result
		}
		select {
		case <-timer.C:
		case <-w.place.woken:
		case <-ctx.Done():
		case o := <-result:
			if le, next := w.inherit(o); next != refused {
				return le, next
			}
			continue // the release wakes, now that it lets go
		}
		if h != nil && !w.place.rises(h) { // a release has taken it, and will tell
			if le, next := w.inherit(<-h.result); le != nil || next == stop {
				return le, next
			}
		}
		if ctx.Err() != nil {
			return nil, stop
		}
		return nil, again
	}
}

// heir lets a release take the waiter. None may if the grant is to seal, or while an earlier request may yet be granted,
// because the store's answer would not tell one from the other.
func (w *waiter) heir() *heir {
	r := w.request()
	if w.locker.handing == nil || w.doubt.requests > 0 || r.Seal != "" {
		return nil
	}
	h := &heir{r, make(chan handOver, 1)}
	w.place.rests(h)
	return h
}

// inherit takes note of what came of a hand-over.
func (w *waiter) inherit(o handOver) (*Lease, verdict) {
	if w.attempts == 0 {
		w.answered = o.first
	}
	w.attempts += o.requests
	now := w.locker.clock()
	if o.err == nil {
		return w.granted(o.grant, o.sent, o.sent, now, o.burst)
	}
	if o.unknown == 0 {
		return nil, refused
	}
	w.doubt.requests, w.doubt.last = w.doubt.requests+o.unknown, o.sent
	w.mayBeGranted(o.first)
	return nil, again
}

// Bounds of the pause between two questions of a waiter that no store wakes.
const (
	shortestPoll = 4 * time.Millisecond
	longestPoll  = time.Second // before jitter, which makes it a second and a half at most
)

// poll is how a waiter spaces its questions. What was held for long will, as far as one can tell, be held for
// long yet: a waiter that nobody wakes asks again after a quarter of that time, so that it is late by about an
// eighth of a hold, and asks about a long one once a second. Of several the store may know the order: who
// stands further back asks as much less often. While it stands where it stood, one process has the name, which may
// hand it from holder to holder, so that each hold is shorter than what is waited for.
type poll struct {
	backoff backoff.Backoff
	ahead   int       // waiters before it, by the last answer
	from    time.Time // the first answer that said so
}

func newPoll() poll {
	return poll{backoff: backoff.Backoff{Next: 20 * time.Millisecond, Most: longestPoll}}
}

// next is how long to rest after the store refused, or after it did not answer (held is nil). Where the store
// wakes the waiter, asking is only the net beneath.
func (p *poll) next(held *driver.Held, woken bool) time.Duration {
	if held == nil {
		return p.backoff.Step()
	}
	if p.from.IsZero() || held.Ahead != p.ahead {
		p.ahead, p.from = held.Ahead, time.Now()
	}
	var pause time.Duration
	if woken || held.Since <= 0 || held.Reason == driver.Contended { // that is not for how long it is contended
		pause = p.backoff.Step()
	} else {
		place := time.Duration(held.Ahead) + 1
		since := max(held.Since, min(time.Since(p.from), longestBurst))
		pause = backoff.Jitter(min(min(max(since/4, shortestPoll), longestPoll)*place, longestPoll))
	}
	if held.ExpiresIn > 0 && (held.Reason != driver.Reserved || held.Ahead == 0) {
		pause = min(pause, held.ExpiresIn+backoff.Jitter(5*time.Millisecond))
	}
	return pause
}

// Within a burst a name goes from holder to holder of one process without becoming free, so nobody else gets
// it. The number bounds what a waiter of another process loses to holders of a moment: with fewer, the request
// that ends a burst and the one that begins the next weigh more; with more, little is saved yet. The time bounds
// it for holders who work longer, to whom one request more or less is nothing.
const (
	longestBurst = 100 * time.Millisecond
	mostHanded   = 16
)

// burst is how a lease came to its process: through the store, or by how many hand-overs in a row since then.
type burst struct {
	began  clock.Instant // when the first of its leases, which came through the store, was asked for
	handed int
}

// heir is the first waiter for a name, for as long as it rests. A release may take it, and tells it then what came of that.
type heir struct {
	request driver.Request
	result  chan handOver // holds one
}

// handOver is what came of handing a name over.
type handOver struct {
	grant    driver.Grant
	burst    burst         // that the grant is part of
	requests int           // that were sent
	first    clock.Instant // before the first of them was
	sent     clock.Instant // before the last of them was
	err      error         // nil if it was granted
	unknown  int           // of them, without a reply
}

// answered says whether the outcome of a hand-over is known.
func answered(err error) bool {
	var held *driver.Held
	return err == nil || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld) || driver.IsNotApplied(err)
}
