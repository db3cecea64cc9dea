package rowlock

import (
	"container/heap"
	"slices"
	"sync"
	"time"
)

// maxNap is how long the scheduler sleeps at most while leases are held. Timers run on the monotonic
// clock; only by looking does it find that another clock has gone on.
const maxNap = time.Second

// renewals keeps the leases of one locker alive with one goroutine and one timer for all of them.
// Requests run in goroutines of their own, so that a store that hangs delays no loss.
type renewals struct {
	locker *Locker
	pokes  chan struct{} // holds one
	turns  chan struct{} // holds one for each request that is under way

	mu      sync.Mutex
	held    schedule
	lost    []*Lease // whose loss is still to be told
	running bool
	stopped bool
	wakes   time.Time // when the scheduler wakes next
}

func (r *renewals) init(l *Locker) {
	r.locker, r.pokes, r.turns = l, make(chan struct{}, 1), make(chan struct{}, mostBatches)
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
		for _, batch := range batches(r.due(now), now) {
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
		tell := le.letSessionGo(lostReason(le.err))
		r.locker.running.tell(func() {
			tell()
			le.tellLost(now)
		})
	}
}

func (le *Lease) tellLost(now instant) {
	emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), lostReason(le.err), now.since(le.granted), le.ctx})
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
		ends, over, late := le.look(now)
		if late {
			expired = append(expired, le)
		}
		if over {
			heap.Pop(&r.held)
			continue
		}
		renewable := !le.plan.asking && !le.plan.paused && le.plan.renewAt.Before(ends)
		if renewable && (le.plan.next.After(now.at.Add(le.early())) || len(due) == 0 && le.plan.next.After(now.at)) ||
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
