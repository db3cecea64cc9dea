package rowlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/crew"
	"github.com/rowlock/rowlock/internal/oneline"
)

var errNoLease = fmt.Errorf("%w: the lease is nil", ErrNotHeld)

// Release ends the lease, so that other processes can acquire the name before it expires. It ignores the
// cancellation of ctx and uses only its values. It takes a few seconds at most. You may call it any number of
// times, and each call returns the same result:
//
//   - nil, if the store has released the lease.
//   - [ErrLost], if the lease was lost earlier. Another process may have held the name during the work.
//   - [ErrUnknown], if no reply came, or if an earlier request without a reply may have released the lease.
//   - [ErrUnavailable], if the store could not be reached.
//   - [ErrNotHeld], if the lease is nil, as after a failed Acquire.
//
// After ErrUnknown and ErrUnavailable a background task retries the release if a retry can help.
// The lease ends with its TTL at the latest.
//
// Other callers of this Locker may wait for the name. If the backend supports it, the release then hands the
// name over to the first of them in the same request. This happens at most 16 times in a row and for 100 ms
// at most, so that other processes can acquire the name, too.
func (le *Lease) Release(ctx context.Context) error {
	if le == nil {
		return errNoLease
	}
	tell, err := le.releaseOnce(ctx)
	tell() // after releaseOnce, because a function of a Trace may call Release of the same lease
	return err
}

// releaseOnce releases the lease when it is called for the first time. Every call returns the error of that release.
// The function that it also returns emits the trace events.
func (le *Lease) releaseOnce(ctx context.Context) (tell func(), err error) {
	tell = func() {}
	if r := le.beginRelease(); r != nil {
		tell = r.run(context.WithoutCancel(ctx))
	}
	return tell, le.awaitRelease()
}

// abandon releases a lease that was never returned to a caller.
func (le *Lease) abandon(ctx context.Context) error {
	le.never()
	return le.Release(ctx)
}

// never records that the lease was never returned to a caller.
func (le *Lease) never() {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.neverReturned = true
}

// ending is a ReleaseWith that has begun.
type ending struct {
	over  chan struct{} // closed when the function has returned
	ended bool          // true if the function returned nil, so the lease has ended; valid once over is closed
}

var errEnding = errors.New("another ReleaseWith of this lease is in progress")

// ReleaseWith ends the lease by calling the function end instead of sending a release. For example, that function can
// delete the lease's row in the transaction that commits the work. ReleaseWith first waits for a renewal in progress, a
// few seconds at most, and starts no renewal while end runs. The deadline does not move, so the function end must
// return before the deadline. Call [Lease.Renew] first to have as much time as possible. The context that end receives
// is derived from ctx. It also ends when the lease is no longer trusted. [FromContext] returns the lease from it.
//
// If end returns nil, the lease is released, as by [Lease.Release]. If the lease has a tick (see [Lease.Tick]), the
// function end must also record the tick. ReleaseWith and later calls of Release return nil, or an [ErrLost] if the
// lease stopped being trusted before the function end returned. If the function end fails or panics, the lease is
// renewed at once and continues. Then ReleaseWith returns the error of that function, and also an [ErrLost] or
// [ErrReleased] if the lease has ended meanwhile. The function may have failed although it has ended the lease, as
// after a commit without a reply. In that case the renewal detects that the lease has ended.
//
// If the lease has already ended, ReleaseWith returns the reason and does not call the function. It returns an
// [ErrUnavailable] if ctx ends while ReleaseWith waits for a renewal in progress. While a ReleaseWith runs, Renew and
// every other ReleaseWith of the lease return an [ErrUnavailable].
//
// If Release or Close is called while the function end runs, that call ends the lease, and therefore the context of the
// function. The call then waits a few seconds at most for the function to return. If the function has not returned nil
// by then, Release or Close sends a release. The function end must not call Release, ReleaseWith, Renew or Close.
func (le *Lease) ReleaseWith(ctx context.Context, end func(ctx context.Context) error) error {
	if err := le.Err(); err != nil {
		return err
	}
	if le.inherited() {
		return &opError{"release", le.grant.Key, ErrUnavailable, errInherited}
	}
	if err := le.locker.renewals.halt(ctx, le); err != nil {
		return err
	}
	e := &ending{over: make(chan struct{})}
	err := le.begin(e)
	if err == nil {
		err = le.endBy(ctx, e, end)
	} else {
		le.locker.renewals.proceed(le)
	}
	if err == nil {
		return le.Release(ctx)
	}
	if ended := le.Err(); ended != nil && !errors.Is(err, ended) {
		err = oneline.Join(err, ended)
	}
	return err
}

// begin stores e, so that a Release waits for it. If the lease has already ended, the method returns the reason
// instead.
func (le *Lease) begin(e *ending) error {
	if err := le.Err(); err != nil {
		return err
	}
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.err == nil {
		le.ending = e
	}
	return le.err
}

func (le *Lease) endBy(ctx context.Context, e *ending, end func(context.Context) error) error {
	inner, leave := le.ctx.scope(ctx)
	defer func() {
		leave()
		close(e.over)
		if !e.ended {
			le.locker.renewals.proceed(le)
		}
	}()
	err := end(inner)
	e.ended = err == nil
	return err
}

// endedBy waits until e is over, for at most the time limit of one request. It reports whether e has ended the lease.
func (le *Lease) endedBy(ctx context.Context, e *ending) bool {
	if e == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL))
	defer cancel()
	defer context.AfterFunc(le.locker.closeLimit, cancel)()
	select {
	case <-e.over:
		return e.ended
	case <-ctx.Done():
		return false
	}
}

var errEffect = errors.New("the store no longer has the lease; an earlier request without a reply may have released it")

// releaseInStore releases the lease in the store, and retries until ctx ends. The function first sends the first
// request. The parameter doubtful says that an earlier request may have released the lease. If a request of
// releaseInStore gets no reply, that request may also have released the lease. In both cases, if the store no longer has
// the lease, the lease does not count as lost.
func (le *Lease) releaseInStore(ctx context.Context, first func(context.Context) error, doubtful bool) error {
	retry := backoff.Backoff{Next: 10 * time.Millisecond, Most: 500 * time.Millisecond}
	for ask := first; ; ask = le.askRelease {
		err := ask(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, driver.ErrNotHeld) && doubtful:
			return &opError{"release", le.grant.Key, ErrUnknown, errEffect}
		case errors.Is(err, driver.ErrNotHeld):
			return le.lost(LostTaken)
		case driver.IsPermanent(err):
			return &opError{"release", le.grant.Key, ErrUnavailable, err}
		}
		if !backoff.Sleep(ctx, retry.Step()) {
			le.locker.janitor.resolve(le.leftover())
			kind := ErrUnknown
			if driver.IsNotApplied(err) {
				kind = ErrUnavailable
			}
			return &opError{"release", le.grant.Key, kind, err}
		}
		doubtful = doubtful || !driver.IsNotApplied(err)
	}
}

// askRelease makes one attempt to release the lease. Its timeout leaves time for another attempt if the reply is
// lost.
func (le *Lease) askRelease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL)/3)
	defer cancel()
	return le.locker.backend.Release(ctx, le.leftover().grant)
}

func (le *Lease) leftover() leftover {
	le.mu.Lock()
	defer le.mu.Unlock()
	grant := le.grant
	grant.Done = ""
	if le.recording {
		grant.Done = le.cfg.tick
	}
	if le.neverReturned {
		grant.MinHold = 0
	}
	return leftover{cfg: le.cfg, grant: grant, since: le.trustFrom, certain: true}
}

// release is the first call that releases a lease. It has begun when no other call can begin, and when the lease is no
// longer trusted.
type release struct {
	lease  *Lease
	began  clock.Instant
	before error                       // why the lease had ended earlier; nil if this release ends it
	other  *ending                     // a ReleaseWith that has begun; nil if there is none
	to     *successor                  // the waiter that receives the lease; nil if the store must release it
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
		le.locker.queues.wake(le.grant.Key)
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
