package rowlock

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// maxBatch is how many leases one request renews at most: ten thousand travel in ten.
const maxBatch = 1000

var errUntold = errors.New("the store could not tell of this lease")

// mostBatches is how many requests of a locker are under way at the same time. More make a store that works at its
// limit no faster but each of them slower, until none is done in its time; with fewer a connection that hangs, which
// holds one up for an attempt, would hold up too many others.
const mostBatches = 4

// batches makes requests of the leases that are due. A request has the time of its most urgent lease, so the leases that
// travel together are those that leave about as much. What has failed alone while others were renewed travels alone.
func batches(due []*Lease, now instant) [][]*Lease {
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

// renew renews one batch, in its turn. What was released or lost while it waited for that is left out: the store may
// still hold what is lost, and would keep it for one more TTL.
func (r *renewals) renew(batch []*Lease) {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
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
func (r *renewals) settle(le *Lease, outcome driver.Outcome, term time.Duration, err error, sent, now instant, batch int, share float64) (time.Duration, func()) {
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
				RenewedEvent{LeaseInfo: le.info(), Took: now.since(sent), Margin: left, Batch: batch})
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
	if le.plan.paused {
		return &opError{"renew", le.grant.Key, ErrUnavailable, errEnding}
	}
	le.plan.requests++
	return nil
}

// attemptTimeout bounds a renewal of batch by its most urgent lease.
func attemptTimeout(batch []*Lease, now instant) time.Duration {
	limit := batch[0].attemptTimeout(now)
	for _, le := range batch[1:] {
		limit = min(limit, le.attemptTimeout(now))
	}
	return limit
}

// attemptTimeout bounds a renewal so that, if it hangs, there is time for more of them before the deadline.
func (le *Lease) attemptTimeout(now instant) time.Duration {
	left, _ := le.remaining(now)
	return max(min(5*time.Second, max(left/3, le.grant.TTL/10)), 5*time.Millisecond)
}

// jitterShare is drawn once for a batch, so that what failed together is retried together.
func jitterShare() float64 { return 0.5 + rand.Float64() }
