package rowlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
)

// errWaitOver is the cause of a context that ended because the time of the option Wait was over.
var errWaitOver = errors.New("wait is over")

// waiter is an acquisition that waits in the queue of this process. While it is the first of the queue,
// it sends requests to the store. Between two requests the waiter rests. A release of this process may hand the name
// over to a resting waiter.
type waiter struct {
	*acquisition
	place      *place
	bound      context.Context // ends when the wait does; nil until the wait begins
	unbind     func()
	subscribed bool
}

// limit returns a context that ends when the caller's context does, when its Wait is over, or when the locker is
// closed. The first call creates the context, so that an acquisition that does not wait creates none.
func (w *waiter) limit() context.Context {
	if w.bound != nil {
		return w.bound
	}
	ctx, cancel := context.WithCancelCause(w.ctx)
	// AfterFunc calls its function in another goroutine, perhaps only after this waiter has subscribed.
	if w.locker.closing.Err() != nil {
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

// reachFront waits until the waiter is the first of this process. If the previous first waiter has just
// acquired the name, or has left its progress, the waiter rests instead of sending a request that would be refused.
func (w *waiter) reachFront() (*Lease, verdict) {
	if w.place.ahead == 0 {
		return nil, again
	}
	ctx := w.limit()
	w.waiting(w.place.ahead)
	select {
	case <-w.place.first:
	case <-ctx.Done():
	}
	w.held = w.place.refusal() // a refusal of the previous first waiter, which has probably just acquired the name
	left := w.place.takeProgress()
	switch {
	case left != nil:
		w.progress = *left
		return w.rest(time.Until(w.due))
	case ctx.Err() != nil:
		return nil, stop
	case w.behindHolder():
		return w.rest(w.poll.next(nil, byHolder))
	}
	return nil, again
}

// waiting emits the event Waiting once.
func (w *waiter) waiting(ahead int) {
	if w.waitReported {
		return
	}
	w.waitReported = true
	w.tell(func() {
		emit(w.cfg, func(t *Trace) func(WaitingEvent) { return t.Waiting }, WaitingEvent{lockInfo(w.key, w.cfg.holder), ahead})
	})
}

// askAndRest sends one request, and rests if it is refused.
func (w *waiter) askAndRest() (le *Lease, next verdict) {
	began := time.Now()
	waited := false // the waiter has waited in the store's queue
	if w.locker.awaiter != nil {
		le, next, waited = w.await()
	} else {
		le, next = w.attempt(w.ctx, callTimeout(w.cfg.ttl))
	}
	if le != nil || next == stop {
		return le, stop
	}
	if next == refused && w.limit().Err() == nil {
		w.place.refused(w.held)
		w.waiting(0)
		if w.subscribe() && !w.refusal.Pending {
			return nil, again // the name may have become free before the subscription began
		}
	}
	pause := w.poll.next(w.refusal, w.wokenBy(waited))
	if waited {
		pause -= time.Since(began)
	}
	return w.rest(pause) // returns at once if the wait is over, and the next waiter continues from here
}

// await sends one request, and waits in the store's queue if the name is held.
func (w *waiter) await() (_ *Lease, _ verdict, waited bool) {
	ctx, cancel := context.WithTimeout(w.ctx, callTimeout(w.cfg.ttl))
	defer cancel()
	failed := w.err != nil
	le, next := w.ask(ctx, func(ctx context.Context, r driver.Request, sent clock.Instant) (driver.Grant, clock.Instant, error) {
		r.Waiting = r.Waiting && !failed // after a failure, first check that the store replies
		g, err := w.locker.awaiter.Await(ctx, r, func(held *driver.Held) context.Context {
			waited = true
			if held != nil {
				w.refused(held, w.locker.clock())
			} else {
				w.answered, w.err = w.locker.clock(), nil
			}
			limit := w.limit()
			if w.nested != nil {
				w.unbind() // ends the wait
				return limit
			}
			if w.held != nil {
				w.place.refused(w.held)
			}
			w.waiting(0)
			return limit
		})
		if !waited {
			return g, sent, err
		}
		if err != nil {
			w.waitFailed()
			return g, sent, err
		}
		return w.confirmIfLate(w.bound, g, sent)
	})
	if over := waited && w.bound.Err() != nil; over && le == nil && errors.Is(w.err, w.bound.Err()) {
		w.err = nil // keep the earlier refusal as the result
	}
	return le, next, waited
}

// waitFailed counts how long the store has been silent when a wait in the store's queue has failed. The time of the
// store's last reply is unknown: the backend ends a wait after one TTL without a reply, so the last reply may be recent
// or one TTL old. Therefore the outage counts as at most half as long as outageLimit allows, which leaves time for
// retries.
func (w *waiter) waitFailed() {
	now := w.locker.clock()
	if silent := outageLimit(w.cfg.ttl) / 2; now.Since(w.answered) > silent {
		w.answered = clock.Instant{At: now.At.Add(-silent), Suspended: now.Suspended}
	}
}

// subscribe asks the store for notifications. It reports whether the subscription is new: whether the store now sends
// notifications and did not send them before. The waiter that becomes the first after this one keeps this subscription.
func (w *waiter) subscribe() bool {
	if w.locker.notifier == nil || w.subscribed {
		return false
	}
	w.subscribed = true // only once; without notifications the waiter polls
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

// behindHolder reports whether the previous first waiter has just acquired the name, so that a request would be
// refused. The release of that lease wakes this waiter or hands the name over. If the lease ends in another way,
// the waiter detects that by polling.
func (w *waiter) behindHolder() bool {
	return w.place.ahead > 0 && w.held != nil && w.locker.handing != nil && w.place.predecessorHolds()
}

// wokenBy returns what wakes the waiter while it rests. The parameter waited says that the waiter has waited in the
// store's queue, which wakes it again.
func (w *waiter) wokenBy(waited bool) waker {
	switch {
	case waited || w.behindHolder():
		return byHolder
	case !w.place.notified() || !w.locker.Capabilities().Wakes:
		return byNobody
	case w.refusal != nil && w.refusal.Listed:
		return byStore
	default:
		return bySubscription
	}
}

// rest waits until d has passed, the waiter is woken, its wait ends, or a release hands the name over.
func (w *waiter) rest(d time.Duration) (*Lease, verdict) {
	w.due = time.Now().Add(d)
	ctx, timer := w.limit(), time.NewTimer(d)
	defer timer.Stop()
	for {
		h := w.offer()
		var result chan handOver // receives the result of a hand-over, if a release takes this waiter for one
		if h != nil {
			result = h.result
		}
		select {
		case <-timer.C:
		case <-w.place.woken:
			w.due = time.Now()
		case <-ctx.Done():
		case o := <-result:
			if le, next := w.acceptHandOver(o); next != refused {
				return le, next
			}
			continue // the store refused the hand-over; the release now frees the name, and then wakes the waiter
		}
		if h != nil && !w.place.stopsResting(h) { // a release has taken the waiter, and will send the result
			if le, next := w.acceptHandOver(<-h.result); le != nil || next == stop {
				return le, next
			}
		}
		if ctx.Err() != nil {
			return nil, stop
		}
		w.due = time.Time{}
		return nil, again
	}
}

// offer offers the waiter to the releases of this process, so that a release can hand the name over to it. If the
// waiter must send its own request, offer returns nil. That is so if the grant must seal, be shared or return the
// recorded tick, because a hand-over does none of these. It is also so if an earlier request of the waiter has no reply,
// because the waiter could not tell a grant of that request from the grant of a hand-over. A recorded request is no
// obstacle, because a hand-over starts the TTL of its grant.
func (w *waiter) offer() *successor {
	r := w.request()
	if w.locker.handing == nil || w.doubt.requests > 0 || r.Seal != "" || r.Shared || w.cfg.tick != "" {
		return nil
	}
	h := &successor{r, make(chan handOver, 1)}
	w.place.rests(h)
	return h
}

// acceptHandOver records the result of a hand-over.
func (w *waiter) acceptHandOver(o handOver) (*Lease, verdict) {
	if w.attempts == 0 {
		w.answered = o.first
	}
	w.attempts += o.requests
	now := w.locker.clock()
	if o.err == nil {
		return w.granted(o.grant, o.sent, o.sent, now, o.series)
	}
	if o.unknown == 0 {
		return nil, refused
	}
	w.doubt.add(o.unknown, o.sent)
	w.mayBeGranted(o.first)
	return nil, again
}

// resign leaves the progress of a waiter that gives up to the next waiter, if possible. Otherwise giveUp withdraws the
// recorded request.
func (w *waiter) resign() {
	rested := !w.due.IsZero() && w.doubt.requests == 0 && w.err == nil
	if rested && w.place.leaveToNext(w.progress) {
		w.recorded, w.trustFrom = false, clock.Instant{}
		return
	}
	if w.attempts == 0 && !w.recorded { // leaves first, so that nothing is left to this waiter later
		w.place.leave()
		if left := w.place.takeProgress(); left != nil {
			w.progress = *left
		}
	}
}

// Bounds of the delay between two requests of a waiter.
const (
	shortestPoll = 4 * time.Millisecond
	longestPoll  = time.Second // without jitter; with jitter, 1.5 s at most

	// A waiter that the store has listed rests for 12 to 20 seconds.
	listedPoll   = 12 * time.Second
	listedJitter = 8 * time.Second
)

// waker says what wakes a waiter that rests.
type waker int

const (
	byNobody       waker = iota
	byHolder             // the release of a holder of this process, or the store's queue
	bySubscription       // a notification of the store
	byStore              // the same, and the store has listed the waiter
)

// poll chooses the delay between two requests. A name that has been held for long will probably be held for longer. So
// a waiter without notifications polls after a quarter of the time for which the name has been held, and after a second
// at most. On average the waiter notices a release after an eighth of the hold. If the store knows how many waiters are
// ahead, the delay grows with their number. While that number stays the same, another process may be handing the name
// over among its own waiters. Each of these holds is short, but the name does not become free between them. Therefore
// poll also measures the time since the number last changed. If that time is longer than the hold, next uses it instead
// of the hold, up to longestSeries.
type poll struct {
	backoff backoff.Backoff
	ahead   int       // number of waiters ahead, according to the last reply
	from    time.Time // when the store first reported the present value of ahead
}

func newPoll() poll {
	return poll{backoff: backoff.Backoff{Next: 20 * time.Millisecond, Most: longestPoll}}
}

// next returns how long to rest after a refusal, or after a request without a reply (held is nil). If something wakes
// the waiter, polling only covers a lost notification and the expiry of the lease.
func (p *poll) next(held *driver.Held, by waker) time.Duration {
	if held == nil {
		return p.backoff.Step()
	}
	if by == byStore {
		return listed(held)
	}
	if p.from.IsZero() || held.Ahead != p.ahead {
		p.ahead, p.from = held.Ahead, time.Now()
	}
	var pause time.Duration
	if by != byNobody || held.Since <= 0 || held.Reason == driver.Contended { // the field Since does not predict how long a contended name stays contended
		pause = p.backoff.Step()
	} else {
		place := time.Duration(held.Ahead) + 1
		since := max(held.Since, min(time.Since(p.from), longestSeries))
		pause = backoff.Jitter(min(min(max(since/4, shortestPoll), longestPoll)*place, longestPoll))
	}
	if held.ExpiresIn > 0 && (held.Reason != driver.Reserved || held.Ahead == 0) {
		pause = min(pause, held.ExpiresIn+backoff.Jitter(5*time.Millisecond))
	}
	return pause
}

// listed returns how long a waiter rests that the store has listed: until the lease or the reservation ends, but not for
// too long, because a notification may be lost. While the name is reserved for another waiter, the waiters further
// behind rest longer.
func listed(held *driver.Held) time.Duration {
	pause := listedPoll + rand.N(listedJitter)
	if held.ExpiresIn > 0 {
		jitter := 5 * time.Millisecond
		if held.Reason == driver.Reserved {
			jitter += time.Duration(min(held.Ahead, 100)) * 25 * time.Millisecond
		}
		pause = min(pause, held.ExpiresIn+backoff.Jitter(jitter))
	}
	return pause
}
