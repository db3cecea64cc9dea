package rowlock

import (
	"sync/atomic"
	"time"
)

// schedule is a heap of leases by the time at which each must be looked at.
type schedule []*Lease

func (s schedule) Len() int { return len(s) }

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

// plan is what the scheduler knows of one lease. But for failures and alone it is under the scheduler's lock.
type plan struct {
	renewAt   time.Time     // when to ask for renewal
	next      time.Time     // when to look at the lease: then, or at its deadline
	asking    bool          // a request of the scheduler is under way
	halted    bool          // none may begin
	requests  int           // that are under way, those of Renew among them
	idle      chan struct{} // if there is one, closed when there are no more
	scheduled bool
	index     int // in the schedule

	failures atomic.Int32 // in a row
	alone    atomic.Bool  // it has failed alone while the store renewed others
}

// answered counts a request that is under way no more. The caller holds the scheduler's lock.
func (p *plan) answered() {
	p.requests--
	if p.requests == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}
