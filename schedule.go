package rowlock

import (
	"sync/atomic"
	"time"
)

// schedule is a heap of leases, ordered by when the scheduler must check them.
type schedule []*Lease

func (s schedule) Len() int { return len(s) }

func (s schedule) Less(i, j int) bool { return s[i].plan.next.Before(s[j].plan.next) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].plan.index, s[j].plan.index = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	le := x.(*Lease) //nolint:forcetypeassert // only leases are pushed
	le.plan.index, le.plan.scheduled = len(*s), true
	*s = append(*s, le)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	le := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	le.plan.scheduled = false
	return le
}

// plan is the scheduler's data about one lease. Its fields are guarded by renewals.mu, except failures and alone, and
// limit, which only the scheduler uses.
type plan struct {
	renewAt   time.Time     // when to renew the lease
	next      time.Time     // when to check the lease: renewAt or its deadline
	asking    bool          // true if a request of the scheduler for this lease is in progress
	halted    bool          // true if a ReleaseWith runs, so no renewal may begin
	requests  int           // requests in progress, including those of Renew
	idle      chan struct{} // if not nil, closed when no request is in progress
	scheduled bool
	index     int           // position in the schedule
	limit     time.Duration // the timeout of the request that is about to be sent

	failures atomic.Int32 // failed renewals in a row
	alone    atomic.Bool  // the store failed to renew this lease in a request of its own, but renewed other leases
}

// answered counts the end of a request. The caller holds renewals.mu.
func (p *plan) answered() {
	p.requests--
	if p.requests == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}
