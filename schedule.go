package rowlock

import (
	"container/heap"
	"sync/atomic"
	"time"
)

// plan is what the scheduler knows of one lease. But for failures and alone it is under the scheduler's lock.
type plan struct {
	renewAt   time.Time     // when to ask for renewal
	next      time.Time     // when to look at the lease: then, or at its deadline
	asking    bool          // a request of the scheduler is under way
	paused    bool          // none may begin
	requests  int           // that are under way, those of Renew among them
	idle      chan struct{} // if there is one, closed when there are no more
	scheduled bool
	index     int // in the schedule

	failures atomic.Int32 // in a row
	alone    atomic.Bool  // it has failed alone while the store renewed others
}

// schedule is a heap of leases by the time at which each must be looked at.
type schedule []*Lease

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].plan.next.Before(s[j].plan.next) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].plan.index, s[j].plan.index = i, j
}

// Push is for package heap.
func (s *schedule) Push(x any) {
	le := x.(*Lease) //nolint:forcetypeassert // only leases are pushed
	le.plan.index, le.plan.scheduled = len(*s), true
	*s = append(*s, le)
}

// Pop is for package heap.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	le := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	le.plan.scheduled = false
	return le
}

// replied puts le back into the schedule after the reply to a request of the scheduler.
func (r *renewals) replied(le *Lease, retry time.Duration, now instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.asking = false
	le.plan.answered()
	r.replan(le, retry, now)
}

// replan plans the next renewal of le after a reply. A request of the scheduler that is still under way comes first.
// The caller holds mu.
func (r *renewals) replan(le *Lease, retry time.Duration, now instant) {
	if !le.plan.scheduled {
		return // released or lost in between
	}
	_, ends := le.remaining(now)
	le.plan.renewAt = le.nextRenewal()
	if retry > 0 {
		le.plan.renewAt = now.at.Add(retry)
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

// answered counts a request that is under way no more. The caller holds the scheduler's lock.
func (p *plan) answered() {
	p.requests--
	if p.requests == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// remaining is how long le is trusted yet, and when that ends by the monotonic clock.
func (le *Lease) remaining(now instant) (left time.Duration, ends time.Time) {
	le.mu.Lock()
	defer le.mu.Unlock()
	left = le.left(now)
	return left, now.at.Add(left)
}

// look says when trust in le ends, whether it has, and whether that was latched just now: then the caller calls
// ended. What is not over is still to be looked at, so both are told from one reading.
func (le *Lease) look(now instant) (ends time.Time, over, late bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	late = le.expire(now)
	return now.at.Add(le.left(now)), le.err != nil, late
}

func (le *Lease) hasEnded() bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.err != nil
}

// nextRenewal is when to renew le. What the store holds until the maximum hold is over is not renewed.
func (le *Lease) nextRenewal() time.Time {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.holdsToTheEnd() {
		return le.granted.at.Add(le.cfg.maxHold)
	}
	return le.sent.at.Add(le.renewEvery())
}

// check ends a lease whose time is up.
func (le *Lease) check(now instant) {
	le.mu.Lock()
	late := le.expire(now)
	le.mu.Unlock()
	if late {
		le.ended()
	}
}

// renewEvery follows the TTL where a store granted less than was asked for, with time for a second try.
func (le *Lease) renewEvery() time.Duration {
	if le.grant.TTL >= le.cfg.ttl {
		return le.cfg.renewEvery
	}
	return min(le.cfg.renewEvery, (le.grant.TTL-le.margin())/2)
}

// early is by how much le may be renewed before its time, to travel with others.
func (le *Lease) early() time.Duration { return le.renewEvery() / 4 }
