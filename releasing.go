package rowlock

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/crew"
)

// release is the first call that releases a lease. It has begun when no other call can begin, and when the lease is no
// longer trusted.
type release struct {
	lease  *Lease
	began  clock.Instant
	before error      // why the lease had ended earlier; nil if this release ends it
	other  *ending    // a ReleaseWith that has begun; nil if there is none
	to     *successor // the waiter that receives the lease; nil if the store must release it
	round  uint64
	first  func(context.Context) error // sends the first request that releases the lease; nil if a batch has released it
}

// beginRelease begins to release the lease. It sends nothing. It returns nil if an earlier call has begun.
func (le *Lease) beginRelease() *release {
	now := le.locker.clock()
	le.mu.Lock()
	if le.releasing != nil {
		le.mu.Unlock()
		return nil
	}
	le.releasing = make(chan struct{})
	late := le.expire(now)
	r := &release{lease: le, began: now, before: le.err, other: le.ending, first: le.askRelease}
	if r.before == nil {
		le.err = ErrReleased
	}
	ended := le.err
	le.mu.Unlock()
	if late {
		le.ended()
	}
	le.unwatch()
	le.ctx.end(ended) // the goroutine that marked the loss may not have ended the context yet
	le.locker.renewals.remove(le)
	r.round = le.lastRound()
	if r.before == nil && r.other == nil && le.mayHandOver(now) {
		r.to = le.locker.queues.takeSuccessor(le.grant.Key)
	}
	return r
}

// awaitRelease waits until the release is over, and returns its error.
func (le *Lease) awaitRelease() error {
	le.mu.Lock()
	over := le.releasing
	le.mu.Unlock()
	<-over
	return le.released
}

// run releases the lease, and returns a function that emits the trace events.
func (r *release) run(ctx context.Context) (tell func()) {
	le := r.lease
	returned := false
	defer func() {
		if !returned { // the backend panicked
			le.released = &opError{"release", le.grant.Key, ErrUnknown, errNoOutcome}
		}
		close(le.releasing)
	}()
	var found LostReason // not zero if the store reported the loss in reply to this release
	err, handed := r.before, false
	if r.before == nil {
		if !le.endedBy(ctx, r.other) {
			handed, err = r.handOverOrRelease(ctx)
			found = lostReason(err)
		}
	} else if reason := lostReason(r.before); reason != LostTaken && reason != LostSession {
		le.locker.janitor.resolve(le.leftover()) // frees the name earlier if the store is reachable again
	}
	if le.doubt.requests > 0 {
		le.locker.janitor.resolve(le.doubt.leftover(le.cfg, le.leftover().grant))
	}
	if !handed {
		le.wakeNext(r.round)
	}
	le.released, returned = err, true
	return func() {
		held := r.began.Since(le.granted)
		if found != 0 {
			emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), found, held, le.ctx})
		}
		emit(le.cfg, func(t *Trace) func(ReleasedEvent) { return t.Released }, ReleasedEvent{le.info(), held, err, le.ctx})
	}
}

// handOverOrRelease hands the lease over to the first waiter of this process, or releases it. The result handed reports
// whether the lease was handed over.
func (r *release) handOverOrRelease(ctx context.Context) (handed bool, err error) {
	if r.first == nil {
		return false, nil
	}
	le := r.lease
	ctx, cancel := le.limited(ctx, callTimeout(le.grant.TTL)) // one limit for all requests of this release
	defer cancel()
	if r.to == nil {
		return false, le.releaseInStore(ctx, r.first, false)
	}
	returned := false
	defer func() {
		if !returned { // the backend panicked, and the lease has no holder
			_ = le.releaseInStore(ctx, le.askRelease, true)
			le.locker.queues.wake(le.grant.Key)
		}
	}()
	h := le.handOver(ctx, r.to)
	returned = true
	if h.err == nil {
		return true, nil
	}
	return false, le.releaseInStore(ctx, le.askRelease, h.unknown > 0)
}

// limited returns a context that ends after the given time, or when Close of the Locker no longer waits.
func (le *Lease) limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(le.locker.closeLimit, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// releaseAll releases several leases of one Locker at the same time, and returns the error of each. If the backend is a
// [driver.Batcher], the first requests are one batch.
func releaseAll(ctx context.Context, all []*Lease) []error {
	ctx = context.WithoutCancel(ctx)
	var tasks []func()
	var batch []*release // the releases that only send a release
	for _, le := range all {
		r := le.beginRelease()
		switch {
		case r == nil:
		case r.before == nil && r.other == nil && r.to == nil && le.locker.batcher != nil:
			batch = append(batch, r)
		default:
			tasks = append(tasks, func() { r.run(ctx)() })
		}
	}
	switch len(batch) {
	case 0:
	case 1:
		tasks = append(tasks, func() { batch[0].run(ctx)() })
	default:
		tasks = append(tasks, func() { releaseTogether(ctx, batch) })
	}
	crew.Together(len(tasks), func(i int) { tasks[i]() }, func() {})
	errs := make([]error, len(all))
	for i, le := range all {
		errs[i] = le.awaitRelease()
	}
	return errs
}

// releaseTogether sends the first requests of all releases in one batch, and then completes the releases. It also
// completes them if the backend panics in the batch.
func releaseTogether(ctx context.Context, batch []*release) {
	slices.SortFunc(batch, func(a, b *release) int { return cmp.Compare(a.lease.Name(), b.lease.Name()) })
	errs := slices.Repeat([]error{errBatchSize}, len(batch))
	defer func() {
		var settled []*release
		tasks := []func(){func() {
			crew.InTurn(len(settled), func(i int) { settled[i].run(ctx)() })
		}}
		for i, r := range batch {
			if errs[i] == nil {
				r.first = nil
				settled = append(settled, r)
				continue
			}
			if !driver.IsNotApplied(errs[i]) {
				r.first = func(context.Context) error { return errs[i] }
			}
			tasks = append(tasks, func() { r.run(ctx)() }) // may take long, because it sends further requests
		}
		crew.Together(len(tasks), func(i int) { tasks[i]() }, func() {})
	}()
	grants := make([]driver.Grant, len(batch))
	for i, r := range batch {
		grants[i] = r.lease.leftover().grant
	}
	le := batch[0].lease
	limited, cancel := le.limited(ctx, callTimeout(le.grant.TTL)/3)
	defer cancel()
	if reply := le.locker.batcher.ReleaseEach(limited, grants); len(reply) == len(batch) {
		errs = reply
	}
}
