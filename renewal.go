package rowlock

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

const (
	// maxBatch is how many leases one request renews at most: ten thousand travel in ten.
	maxBatch = 1000
	// maxNap is how long the scheduler sleeps at most while leases are held. Timers run on the
	// monotonic clock; only by looking does it find that another clock has gone on.
	maxNap = time.Second
)

// renewals keeps the leases of one locker alive with one goroutine and one timer for all of them.
// Requests run in goroutines of their own, so that a store that hangs delays no loss.
type renewals struct {
	locker *Locker
	pokes  chan struct{} // holds one

	mu      sync.Mutex
	held    schedule
	lost    []*Lease // whose loss is still to be told
	running bool
	stopped bool
	wakes   time.Time // when the scheduler wakes next
}

func (r *renewals) init(l *Locker) {
	r.locker, r.pokes = l, make(chan struct{}, 1)
}

// add keeps le alive from now on. It refuses once the locker is closed.
func (r *renewals) add(le *Lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	le.plan.renewAt = le.sent.at.Add(le.renewEvery())
	le.plan.next = le.plan.renewAt
	heap.Push(&r.held, le)
	r.start(le.plan.next)
	return true
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

// remove forgets le. The scheduler need not wake for it.
func (r *renewals) remove(le *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(le)
	if r.stopped {
		r.poke()
	}
}

func (r *renewals) forget(le *Lease) {
	if le.plan.scheduled {
		heap.Remove(&r.held, le.plan.index)
	}
}

// retire forgets le, which was lost, and has the loss told by the scheduler: whoever noticed may be
// in a getter.
func (r *renewals) retire(le *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(le)
	r.lost = append(r.lost, le)
	r.start(time.Time{})
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

// run tells losses, starts renewals and enforces deadlines until nothing is held.
func (r *renewals) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := r.locker.clock()
	for {
		now := r.locker.clock()
		r.tellLost(now)
		if now.jump(last) > 10*time.Millisecond {
			r.expireAll(now)
		}
		last = now
		due := r.due(now)
		for batch := range slices.Chunk(due, maxBatch) {
			r.locker.running.Go(func() { r.renew(batch) })
		}
		r.mu.Lock()
		if len(r.held) == 0 && len(r.lost) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.wakes = now.at.Add(maxNap)
		if len(r.lost) > 0 {
			r.wakes = now.at
		} else if r.held[0].plan.next.Before(r.wakes) {
			r.wakes = r.held[0].plan.next
		}
		timer.Reset(r.wakes.Sub(now.at))
		r.mu.Unlock()
		select {
		case <-timer.C:
		case <-r.pokes:
		}
	}
}

// tellLost reports the losses that came up since the last time.
func (r *renewals) tellLost(now instant) {
	r.mu.Lock()
	lost := r.lost
	r.lost = nil
	r.mu.Unlock()
	for _, le := range lost {
		r.locker.queues.wake(le.grant.Key)
		emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), lostReason(le.err), now.since(le.granted)})
	}
}

// expireAll looks at every lease, because a clock has jumped.
func (r *renewals) expireAll(now instant) {
	r.mu.Lock()
	held := slices.Clone(r.held)
	r.mu.Unlock()
	for _, le := range held {
		le.check(now)
	}
}

// due takes the leases whose time has come. Where one must be renewed, those that are to be within
// a quarter of an interval come along, so that an interval has a few requests however many leases.
func (r *renewals) due(now instant) []*Lease {
	var due, expired []*Lease
	r.mu.Lock()
	for len(r.held) > 0 {
		le := r.held[0]
		left, ends := le.remaining(now)
		if left <= 0 {
			heap.Pop(&r.held)
			expired = append(expired, le)
			continue
		}
		renewable := !le.plan.asking && le.plan.renewAt.Before(ends)
		if renewable && (le.plan.next.After(now.at.Add(le.early())) || len(due) == 0 && le.plan.next.After(now.at)) ||
			!renewable && le.plan.next.Equal(ends) {
			break
		}
		if renewable {
			le.plan.asking = true
			due = append(due, le)
		}
		le.plan.next = ends // until a reply comes, only the deadline matters
		heap.Fix(&r.held, 0)
	}
	r.mu.Unlock()
	for _, le := range expired {
		le.check(now)
	}
	return due
}

// renew sends one batch and plans what comes next for each of its leases.
func (r *renewals) renew(batch []*Lease) {
	sent := r.locker.clock()
	ctx, cancel := context.WithTimeout(r.locker.requests, attemptTimeout(batch, sent))
	defer cancel()
	grants := make([]driver.Grant, len(batch))
	for i, le := range batch {
		grants[i] = le.grant
	}
	outcomes, err := r.locker.backend.Renew(ctx, grants)
	now := r.locker.clock()
	if err == nil && len(outcomes) != len(grants) {
		err = errors.New("the backend gave another number of outcomes than it was asked for")
	}
	share := jitterShare()
	for i, le := range batch {
		outcome := driver.Unknown
		if err == nil {
			outcome = outcomes[i]
		}
		retry := r.settle(le, outcome, err, sent, now, len(batch), share)
		r.replan(le, retry, now)
	}
}

// settle applies one outcome, and returns the pause before the next attempt: zero for the usual one.
func (r *renewals) settle(le *Lease, outcome driver.Outcome, err error, sent, now instant, batch int, share float64) time.Duration {
	switch outcome {
	case driver.Renewed:
		if left, held := le.confirm(sent, now); held {
			le.plan.failures.Store(0)
			emit(le.cfg, func(t *Trace) func(RenewedEvent) { return t.Renewed },
				RenewedEvent{LeaseInfo: le.info(), Took: now.since(sent), Margin: left, Batch: batch})
		}
		return 0
	case driver.Lost:
		le.lose(LostTaken)
		return 0
	}
	if le.Err() != nil {
		return 0
	}
	if err == nil {
		err = errors.New("the store could not tell of this lease")
	}
	failures := int(le.plan.failures.Add(1))
	left, _ := le.remaining(now)
	emit(le.cfg, func(t *Trace) func(RenewalFailedEvent) { return t.RenewalFailed },
		RenewalFailedEvent{LeaseInfo: le.info(), Err: err, Failures: failures, Left: left})
	pause := min(le.renewEvery()/8*time.Duration(min(failures, 4)), left/3)
	return max(time.Duration(share*float64(pause)), time.Millisecond)
}

// renewNow renews one lease for a caller who waits for it.
func (r *renewals) renewNow(ctx context.Context, le *Lease) error {
	sent := r.locker.clock()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout([]*Lease{le}, sent))
	defer cancel()
	outcomes, err := r.locker.backend.Renew(ctx, []driver.Grant{le.grant})
	now := r.locker.clock()
	outcome := driver.Unknown
	if err == nil && len(outcomes) == 1 {
		outcome = outcomes[0]
	}
	retry := r.settle(le, outcome, err, sent, now, 1, jitterShare())
	if outcome == driver.Unknown {
		if err == nil {
			err = errors.New("the store could not tell of this lease")
		}
		return &opError{"renew", le.grant.Key, ErrUnknown, err}
	}
	r.replan(le, retry, now)
	return nil
}
