package rowlock

import (
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

// reply is the result of one request.
type reply struct {
	grants    []driver.Grant // the grants of the request, with the requested TTLs
	outcomes  []driver.Outcome
	err       error
	late      bool // true if the request failed because of its timeout
	sent, now clock.Instant
}

// ask sends one request that renews the leases in the slice part.
func (o *batchRun) ask(part []*Lease) reply {
	l := o.renewals.locker
	sent := l.clock()
	ctx, cancel := context.WithTimeout(l.requests, attemptTimeout(part, sent))
	defer cancel()
	grants := make([]driver.Grant, len(part))
	for i, le := range part {
		grants[i] = le.renewalRequest(sent)
	}
	outcomes, err := l.backend.Renew(ctx, grants)
	if err == nil && len(outcomes) != len(grants) {
		err = errBatchSize
	}
	o.works = o.works || err == nil
	return reply{grants, outcomes, err, ctx.Err() != nil, sent, l.clock()}
}

// settle applies the reply r to the leases in the slice part. No later request of this run renews these leases.
func (o *batchRun) settle(part []*Lease, r reply) {
	var tells []func()
	for i, le := range part {
		outcome, term := driver.Unknown, time.Duration(0)
		if r.err == nil {
			outcome, term = r.outcomes[i], r.grants[i].TTL
		}
		retry, tell := o.renewals.settle(le, outcome, term, r.err, r.sent, r.now, len(part), o.share)
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
