package rowlock

import (
	"context"
	"errors"
	"math/rand/v2"
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

// renew sends one batch, in its turn, and plans what comes next for each of its leases.
func (r *renewals) renew(batch []*Lease) {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
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
		err = errUntold
	}
	le.failed(err)
	failures := int(le.plan.failures.Add(1))
	left, _ := le.remaining(now)
	emit(le.cfg, func(t *Trace) func(RenewalFailedEvent) { return t.RenewalFailed },
		RenewalFailedEvent{LeaseInfo: le.info(), Err: err, Failures: failures, Left: left})
	pause := min(le.renewEvery()/8*time.Duration(min(failures, 4)), left/3)
	return max(time.Duration(share*float64(pause)), time.Millisecond)
}

// renewNow renews one lease for a caller who waits for it.
func (r *renewals) renewNow(ctx context.Context, le *Lease) error {
	if err := r.ask(le); err != nil {
		return err
	}
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
		r.mu.Lock()
		le.plan.answered()
		r.mu.Unlock()
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

// attemptTimeout bounds a renewal so that, if it hangs, there is time for more of them before the
// most urgent deadline of the batch.
func attemptTimeout(batch []*Lease, now instant) time.Duration {
	limit := 5 * time.Second
	for _, le := range batch {
		left, _ := le.remaining(now)
		limit = min(limit, max(left/3, le.grant.TTL/10))
	}
	return max(limit, 5*time.Millisecond)
}

// jitterShare is drawn once for a batch, so that what failed together is retried together.
func jitterShare() float64 { return 0.5 + rand.Float64() }
