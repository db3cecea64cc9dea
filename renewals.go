package rowlock

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// maxNap limits the sleep of the scheduler while leases are held. Timers use the monotonic clock, so the
// scheduler must wake up to see that another clock has advanced.
const maxNap = time.Second

// maxBatch limits the leases of one request: 10,000 leases take ten requests.
const maxBatch = 1000

// mostBatches limits the concurrent requests of a locker. More requests would not make an overloaded store faster,
// but would make each of them slower, until all of them time out. With fewer concurrent requests,
// one request that hangs would delay too many other leases.
const mostBatches = 4

// renewals renews all leases of a locker with one goroutine and one timer. Each request has a goroutine of
// its own, so that a store that hangs does not delay the detection of a loss.
type renewals struct {
	locker *Locker
	pokes  chan struct{} // wakes the scheduler; has capacity for one signal
	slots  chan struct{} // has one element for each request in progress

	mu      sync.Mutex
	held    schedule
	lost    []*Lease // lost leases whose Lost events are not emitted yet
	running bool
	stopped bool
	wakes   time.Time // when the scheduler wakes up next
}

func (r *renewals) init(l *Locker) {
	r.locker, r.pokes, r.slots = l, make(chan struct{}, 1), make(chan struct{}, mostBatches)
}

// add schedules the renewals of le. It reports false if the locker is closed.
func (r *renewals) add(le *Lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	le.plan.renewAt = le.nextRenewal()
	le.plan.next = le.plan.renewAt
	heap.Push(&r.held, le)
	r.start(le.plan.next)
	return true
}

// remove ends the renewals of le. After a call of stop, the scheduler ends when its last lease is removed. Therefore
// remove wakes the scheduler, but only after stop.
func (r *renewals) remove(le *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(le)
	if r.stopped {
		r.poke()
	}
}

// retire removes le, which was lost. The caller may be a getter, which must not wait for the functions of a Trace, so
// the scheduler emits the Lost event. If the scheduler has already ended because of Close, retire emits the event
// itself.
func (r *renewals) retire(le *Lease) {
	r.mu.Lock()
	r.forget(le)
	over := r.stopped && !r.running
	if !over {
		r.lost = append(r.lost, le)
		r.start(time.Time{})
	}
	r.mu.Unlock()
	if over {
		le.tellLost(r.locker.clock())
	}
}

// stop ends the scheduler and returns the held leases.
func (r *renewals) stop() []*Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	held := slices.Clone(r.held)
	r.poke()
	return held
}

// start makes the scheduler run at t or earlier. The caller holds mu.
func (r *renewals) start(t time.Time) {
	if !r.running {
		r.running, r.wakes = true, t
		r.locker.running.Go(r.run)
		return
	}
	if t.Before(r.wakes) {
		r.poke()
	}
}

func (r *renewals) poke() {
	select {
	case r.pokes <- struct{}{}:
	default:
	}
}

func (r *renewals) forget(le *Lease) {
	if le.plan.scheduled {
		heap.Remove(&r.held, le.plan.index)
	}
}

// run emits Lost events, starts renewals and enforces deadlines until no lease is held.
func (r *renewals) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := r.locker.clock()
	for {
		now := r.locker.clock()
		r.tellLost(now)
		if now.Jump(last) > 10*time.Millisecond {
			r.expireAll(now)
		}
		last = now
		for _, batch := range batches(r.due(now), now) {
			r.locker.running.Go(func() { r.renew(batch) })
		}
		r.mu.Lock()
		if len(r.held) == 0 && len(r.lost) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.wakes = now.At.Add(maxNap)
		if len(r.lost) > 0 {
			r.wakes = now.At
		} else if r.held[0].plan.next.Before(r.wakes) {
			r.wakes = r.held[0].plan.next
		}
		timer.Reset(r.wakes.Sub(now.At))
		r.mu.Unlock()
		select {
		case <-timer.C:
		case <-r.pokes:
		}
	}
}

// tellLost emits the Lost events of the losses since the last call.
func (r *renewals) tellLost(now clock.Instant) {
	r.mu.Lock()
	lost := r.lost
	r.lost = nil
	r.mu.Unlock()
	for _, le := range lost {
		r.locker.queues.wake(le.grant.Key)
		tell := le.endSession(lostReason(le.err))
		r.locker.running.Tell(func() {
			tell()
			le.tellLost(now)
		})
	}
}

// expireAll checks every lease, because a clock has jumped.
func (r *renewals) expireAll(now clock.Instant) {
	r.mu.Lock()
	held := slices.Clone(r.held)
	r.mu.Unlock()
	for _, le := range held {
		le.check(now)
	}
}

// due returns the leases to renew now. If a lease is due, the method also returns the leases that become due within a
// quarter of their renewal interval. So few requests are sent in each interval, however many leases there are.
func (r *renewals) due(now clock.Instant) []*Lease {
	var due, expired []*Lease
	r.mu.Lock()
	for len(r.held) > 0 {
		le := r.held[0]
		ends, over, late := le.look(now)
		if late {
			expired = append(expired, le)
		}
		if over {
			heap.Pop(&r.held)
			continue
		}
		renewable := !le.plan.asking && !le.plan.halted && le.plan.renewAt.Before(ends)
		if renewable && (le.plan.next.After(now.At.Add(le.early())) || len(due) == 0 && le.plan.next.After(now.At)) ||
			!renewable && le.plan.next.Equal(ends) {
			break
		}
		if renewable {
			le.plan.asking = true
			le.plan.requests++
			due = append(due, le)
		}
		le.plan.next = ends // until a reply comes, only the deadline matters
		heap.Fix(&r.held, 0)
	}
	r.mu.Unlock()
	for _, le := range expired {
		le.ended()
	}
	return due
}

// batches groups the leases into requests. The most urgent lease decides the timeout of a request, so each
// request has leases with similar timeouts. A lease that failed alone while others were renewed gets a
// request of its own.
func batches(due []*Lease, now clock.Instant) [][]*Lease {
	var all [][]*Lease
	var together []*Lease
	for _, le := range due {
		if le.plan.alone.Load() {
			all = append(all, []*Lease{le})
		} else {
			together = append(together, le)
		}
	}
	for _, le := range together {
		le.plan.limit = le.attemptTimeout(now)
	}
	slices.SortStableFunc(together, func(a, b *Lease) int { return cmp.Compare(a.plan.limit, b.plan.limit) })
	for len(together) > 0 {
		n := 1
		for n < len(together) && n < maxBatch && together[n].plan.limit <= 2*together[0].plan.limit {
			n++
		}
		all, together = append(all, together[:n]), together[n:]
	}
	return all
}

// renew renews one batch when a slot is free. It skips a lease that was released or lost meanwhile.
// The store may still hold a lost lease, and a renewal would extend that lease by another TTL.
func (r *renewals) renew(batch []*Lease) {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	now := r.locker.clock()
	batch = slices.DeleteFunc(batch, func(le *Lease) bool {
		le.check(now)
		over := le.hasEnded()
		if over {
			r.replied(le, 0, now)
		}
		return over
	})
	if len(batch) > 0 {
		o := batchRun{renewals: r, share: jitterShare()}
		o.renew(batch)
	}
}

// replied schedules le after the reply to a request of the scheduler.
func (r *renewals) replied(le *Lease, retry time.Duration, now clock.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.asking = false
	le.plan.answered()
	r.replan(le, retry, now)
}

// replan schedules the next renewal of le after a reply. If a request of the scheduler is in progress,
// its reply schedules the next renewal again. The caller holds mu.
func (r *renewals) replan(le *Lease, retry time.Duration, now clock.Instant) {
	if !le.plan.scheduled {
		return // released or lost meanwhile
	}
	_, ends := le.remaining(now)
	le.plan.renewAt = le.nextRenewal()
	if retry > 0 {
		le.plan.renewAt = now.At.Add(retry)
	}
	le.plan.next = le.plan.renewAt
	if ends.Before(le.plan.next) {
		le.plan.next = ends
	}
	heap.Fix(&r.held, le.plan.index)
	r.start(le.plan.next)
}

// at schedules a renewal of le at t, if le is still held. The caller holds mu.
func (r *renewals) at(le *Lease, t time.Time) {
	if !le.plan.scheduled {
		return
	}
	le.plan.renewAt, le.plan.next = t, t
	heap.Fix(&r.held, le.plan.index)
	r.start(t)
}

// renewNow renews one lease while its caller waits.
func (r *renewals) renewNow(ctx context.Context, le *Lease) error {
	if err := r.ask(le); err != nil {
		return err
	}
	reply := r.locker.askRenewal(ctx, []*Lease{le})
	retry, tell := reply.settle(0, le, jitterShare())
	if tell != nil {
		defer tell()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.answered()
	if reply.outcome(0) == driver.Unknown {
		return &opError{"renew", le.grant.Key, ErrUnknown, reply.failure()}
	}
	r.replan(le, retry, reply.now)
	return nil
}

// ask counts a request that is about to be sent. It returns an error if halt has stopped the renewals of le.
func (r *renewals) ask(le *Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if le.plan.halted {
		return &opError{"renew", le.grant.Key, ErrUnavailable, errEnding}
	}
	le.plan.requests++
	return nil
}

// halt prevents renewals of le until proceed is called. It returns when no renewal of le is in progress,
// or when le has ended. If ctx ends first, the method returns an error.
func (r *renewals) halt(ctx context.Context, le *Lease) error {
	r.mu.Lock()
	if le.plan.halted {
		r.mu.Unlock()
		return &opError{"release", le.grant.Key, ErrUnavailable, errEnding}
	}
	le.plan.halted = true
	idle := make(chan struct{})
	if le.plan.requests > 0 {
		le.plan.idle = idle
	} else {
		close(idle)
	}
	r.mu.Unlock()
	select {
	case <-idle:
	case <-le.ctx.Done():
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return nil
	}
	r.proceed(le)
	return &opError{"release", le.grant.Key, ErrUnavailable, context.Cause(ctx)}
}

// proceed makes the scheduler renew le at once, and then at the usual intervals.
func (r *renewals) proceed(le *Lease) {
	now := r.locker.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.halted = false
	r.at(le, now.At)
}
