package rowlock

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// parts is the number of smaller requests into which a failed request is split. With 8 parts, about 30 more requests
// find one bad lease among 1,000.
const parts = 8

var (
	errNoOutcome = errors.New("the store did not report an outcome for this lease")
	errBatchSize = errors.New("the backend returned a wrong number of outcomes")
)

// batchRun sends the requests that renew one batch. One request is enough, unless the store refuses it because of
// some of its leases.
type batchRun struct {
	renewals *renewals
	share    float64 // random factor for the delay before a retry
	works    bool    // true if the store has renewed a lease in this run
}

// renew renews a batch. If a request fails although the store renews other leases, some leases of that request are
// the cause. Then renew splits the request until each such lease fails in a request of its own.
// A request that times out ends the run.
func (o *batchRun) renew(batch []*Lease) {
	for todo := [][]*Lease{batch}; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		reply := o.ask(part)
		switch {
		case reply.err == nil:
		case reply.late:
			part, todo = slices.Concat(part, slices.Concat(todo...)), nil
		case len(part) > 1 && o.renewsAnother(part):
			todo = slices.AppendSeq(todo, slices.Chunk(part, (len(part)+parts-1)/parts))
			continue
		case o.works:
			part[0].plan.alone.Store(true)
		}
		o.settle(part, reply)
	}
}

// renewsAnother reports whether the store has renewed any lease in this run. If no lease has been renewed yet,
// renewsAnother tries to renew one random lease of the slice part. The store may be unable to renew this lease,
// although it can renew others. But the batch is retried about twenty times before its leases are lost, so a later run
// will choose another lease.
func (o *batchRun) renewsAnother(part []*Lease) bool {
	if !o.works {
		i := rand.IntN(len(part))
		o.ask(part[i : i+1])
	}
	return o.works
}

// ask sends one request that renews the leases in the slice part.
func (o *batchRun) ask(part []*Lease) reply {
	l := o.renewals.locker
	r := l.askRenewal(l.requests, part)
	o.works = o.works || r.err == nil
	return r
}

// settle applies the reply r to the leases in the slice part. No later request of this run renews these leases.
func (o *batchRun) settle(part []*Lease, r reply) {
	var tells []func()
	for i, le := range part {
		retry, tell := r.settle(i, le, o.share)
		o.renewals.replied(le, retry, r.now)
		if tell != nil {
			tells = append(tells, tell)
		}
	}
	o.renewals.locker.running.Tell(func() {
		for _, tell := range tells {
			tell()
		}
	})
}

// reply is the result of one request that renews leases.
type reply struct {
	grants    []driver.Grant // the grants of the request, with the requested TTLs
	outcomes  []driver.Outcome
	err       error
	late      bool // true if the request failed because of its timeout
	sent, now clock.Instant
}

// askRenewal sends one request that renews the leases in the slice part.
func (l *Locker) askRenewal(ctx context.Context, part []*Lease) reply {
	sent := l.clock()
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(part, sent))
	defer cancel()
	grants := make([]driver.Grant, len(part))
	for i, le := range part {
		grants[i] = le.renewalRequest(sent)
	}
	outcomes, err := l.backend.Renew(ctx, grants)
	if err == nil && len(outcomes) != len(grants) {
		err = errBatchSize
	}
	return reply{grants, outcomes, err, ctx.Err() != nil, sent, l.clock()}
}

// outcome returns the outcome of the lease with the index i.
func (r *reply) outcome(i int) driver.Outcome {
	if r.err != nil {
		return driver.Unknown
	}
	return r.outcomes[i]
}

// failure returns why an outcome is unknown.
func (r *reply) failure() error { return cmp.Or(r.err, errNoOutcome) }

// settle applies the reply to le, the lease with the index i. It returns the delay before the next attempt, and a
// function that emits the trace event, or nil if there is no event. A delay of zero means the usual delay.
func (r *reply) settle(i int, le *Lease, share float64) (time.Duration, func()) {
	switch r.outcome(i) {
	case driver.Renewed:
		left, held := le.confirm(r.sent, r.now, r.grants[i].TTL)
		if !held {
			return 0, nil
		}
		le.plan.failures.Store(0)
		le.plan.alone.Store(false)
		if !le.cfg.traced() {
			return 0, nil
		}
		took, batch := r.now.Since(r.sent), len(r.grants)
		return 0, func() {
			emit(le.cfg, func(t *Trace) func(RenewedEvent) { return t.Renewed },
				RenewedEvent{LeaseInfo: le.info(), Took: took, Margin: left, Batch: batch})
		}
	case driver.Lost:
		le.lose(LostTaken)
		return 0, nil
	}
	if le.Err() != nil {
		return 0, nil
	}
	err := r.failure()
	le.failed(err)
	failures := int(le.plan.failures.Add(1))
	left, _ := le.remaining(r.now)
	pause := min(le.renewEvery()/8*time.Duration(min(failures, 4)), left/3)
	return max(time.Duration(share*float64(pause)), time.Millisecond), func() {
		emit(le.cfg, func(t *Trace) func(RenewalFailedEvent) { return t.RenewalFailed },
			RenewalFailedEvent{LeaseInfo: le.info(), Err: err, Failures: failures, Left: left})
	}
}

// attemptTimeout returns the timeout for a request that renews the leases in the slice batch: the shortest timeout of
// its leases.
func attemptTimeout(batch []*Lease, now clock.Instant) time.Duration {
	limit := batch[0].attemptTimeout(now)
	for _, le := range batch[1:] {
		limit = min(limit, le.attemptTimeout(now))
	}
	return limit
}

// jitterShare returns a random factor for the delay before a retry. It is called once for each batch,
// so that leases that failed together are retried together.
func jitterShare() float64 { return 0.5 + rand.Float64() }
