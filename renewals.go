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

// maxNap is how long the scheduler sleeps at most while leases are held. Timers run on the monotonic
// clock; only by looking does it find that another clock has gone on.
const maxNap = time.Second

// maxBatch is how many leases one request renews at most: ten thousand travel in ten.
const maxBatch = 1000

// mostBatches is how many requests of a locker are under way at the same time. More make a store that works at its
// limit no faster but each of them slower, until none is done in its time; with fewer a connection that hangs, which
// holds one up for an attempt, would hold up too many others.
const mostBatches = 4

// renewals keeps the leases of one locker alive with one goroutine and one timer for all of them.
// Requests run in goroutines of their own, so that a store that hangs delays no loss.
type renewals struct {
	locker *Locker
	pokes  chan struct{} // holds one
	slots  chan struct{} // holds one for each request that is under way

	mu      sync.Mutex
	held    schedule
	lost    []*Lease // whose loss is still to be told
	running bool
	stopped bool
	wakes   time.Time // when the scheduler wakes next
}

func (r *renewals) init(l *Locker) {
	r.locker, r.pokes, r.slots = l, make(chan struct{}, 1), make(chan struct{}, mostBatches)
}

// add keeps le alive from now on. It refuses once the locker is closed.
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

// remove forgets le. The scheduler need not wake for it.
func (r *renewals) remove(le *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(le)
	if r.stopped {
		r.poke()
	}
}

// retire forgets le, which was lost, and has the loss told by the scheduler: whoever noticed may be
// in a getter. Only where Close has ended meanwhile nobody else is left to tell it.
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

// stop ends the scheduler and returns the leases that were held.
func (r *renewals) stop() []*Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	held := slices.Clone(r.held)
	r.poke()
	return held
}

// start makes the scheduler look at t at the latest. The caller holds mu.
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

// run tells losses, starts renewals and enforces deadlines until nothing is held.
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

// tellLost reports the losses that came up since the last time.
func (r *renewals) tellLost(now clock.Instant) {
	r.mu.Lock()
	lost := r.lost
	r.lost = nil
	r.mu.Unlock()
	for _, le := range lost {
		r.locker.queues.wake(le.grant.Key)
		tell := le.letSessionGo(lostReason(le.err))
		r.locker.running.Tell(func() {
			tell()
			le.tellLost(now)
		})
	}
}

// expireAll looks at every lease, because a clock has jumped.
func (r *renewals) expireAll(now clock.Instant) {
	r.mu.Lock()
	held := slices.Clone(r.held)
	r.mu.Unlock()
	for _, le := range held {
		le.check(now)
	}
}

// due takes the leases whose time has come. Where one must be renewed, those that are to be within
// a quarter of an interval come along, so that an interval has a few requests however many leases.
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

// batches makes requests of the leases that are due. A request has the time of its most urgent lease, so the leases that
// travel together are those that leave about as much. What has failed alone while others were renewed travels alone.
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
	limits := make(map[*Lease]time.Duration, len(together))
	for _, le := range together {
		limits[le] = le.attemptTimeout(now)
	}
	slices.SortStableFunc(together, func(a, b *Lease) int { return cmp.Compare(limits[a], limits[b]) })
	for len(together) > 0 {
		n := 1
		for n < len(together) && n < maxBatch && limits[together[n]] <= 2*limits[together[0]] {
			n++
		}
		all, together = append(all, together[:n]), together[n:]
	}
	return all
}

// renew renews one batch, once there is a slot for it. What was released or lost while it waited for that is left out: the store may
// still hold what is lost, and would keep it for one more TTL.
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

// settle applies one outcome of a request for term, and returns the pause before the next attempt, zero for the usual one, and what tells of it.
func (r *renewals) settle(le *Lease, outcome driver.Outcome, term time.Duration, err error, sent, now clock.Instant, batch int, share float64) (time.Duration, func()) {
	switch outcome {
	case driver.Renewed:
		left, held := le.confirm(sent, now, term)
		if !held {
			return 0, func() {}
		}
		le.plan.failures.Store(0)
		le.plan.alone.Store(false)
		return 0, func() {
			emit(le.cfg, func(t *Trace) func(RenewedEvent) { return t.Renewed },
				RenewedEvent{LeaseInfo: le.info(), Took: now.Since(sent), Margin: left, Batch: batch})
		}
	case driver.Lost:
		le.lose(LostTaken)
		return 0, func() {}
	}
	if le.Err() != nil {
		return 0, func() {}
	}
	if err == nil {
		err = errUntold
	}
	le.failed(err)
	failures := int(le.plan.failures.Add(1))
	left, _ := le.remaining(now)
	pause := min(le.renewEvery()/8*time.Duration(min(failures, 4)), left/3)
	return max(time.Duration(share*float64(pause)), time.Millisecond), func() {
		emit(le.cfg, func(t *Trace) func(RenewalFailedEvent) { return t.RenewalFailed },
			RenewalFailedEvent{LeaseInfo: le.info(), Err: err, Failures: failures, Left: left})
	}
}

// replied puts le back into the schedule after the reply to a request of the scheduler.
func (r *renewals) replied(le *Lease, retry time.Duration, now clock.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.asking = false
	le.plan.answered()
	r.replan(le, retry, now)
}

// replan plans the next renewal of le after a reply. A request of the scheduler that is still under way comes first.
// The caller holds mu.
func (r *renewals) replan(le *Lease, retry time.Duration, now clock.Instant) {
	if !le.plan.scheduled {
		return // released or lost in between
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

// at has le renewed at t, if it is still held. The caller holds mu.
func (r *renewals) at(le *Lease, t time.Time) {
	if !le.plan.scheduled {
		return
	}
	le.plan.renewAt, le.plan.next = t, t
	heap.Fix(&r.held, le.plan.index)
	r.start(t)
}

// renewNow renews one lease for a caller who waits for it.
func (r *renewals) renewNow(ctx context.Context, le *Lease) error {
	if err := r.ask(le); err != nil {
		return err
	}
	sent := r.locker.clock()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout([]*Lease{le}, sent))
	defer cancel()
	grant := le.asked(sent)
	outcomes, err := r.locker.backend.Renew(ctx, []driver.Grant{grant})
	now := r.locker.clock()
	outcome := driver.Unknown
	if err == nil && len(outcomes) == 1 {
		outcome = outcomes[0]
	}
	retry, tell := r.settle(le, outcome, grant.TTL, err, sent, now, 1, jitterShare())
	defer tell()
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.answered()
	if outcome == driver.Unknown {
		if err == nil {
			err = errUntold
		}
		return &opError{"renew", le.grant.Key, ErrUnknown, err}
	}
	r.replan(le, retry, now)
	return nil
}

// ask counts a request that is about to be sent, unless none may begin.
func (r *renewals) ask(le *Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if le.plan.halted {
		return &opError{"renew", le.grant.Key, ErrUnavailable, errEnding}
	}
	le.plan.requests++
	return nil
}

// halt lets no renewal of le begin until proceed, and returns when none is on its way.
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

// proceed has le renewed at once, and then as usual.
func (r *renewals) proceed(le *Lease) {
	now := r.locker.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.halted = false
	r.at(le, now.At)
}
