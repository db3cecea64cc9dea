package rowlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/oneline"
)

var errNoLease = fmt.Errorf("%w: the lease is nil", ErrNotHeld)

// Release ends the lease, so that others need not wait for it to expire. It ignores a cancelled
// ctx, of which only the values matter, and has a limit of its own of a few seconds. It may be
// called any number of times, and each call returns the same: nil when the store has let go; an
// [ErrLost] when the lease had been lost before, so that another may have held the name during the
// work; an [ErrUnknown] when no answer came, or [ErrUnavailable] when the store could not be
// reached: then it is tried again in the background, and the lease ends with its TTL at the latest.
// It is an ErrUnknown, too, when the store has let go and it cannot be told whether that was by this
// call, because the reply to its first request was lost.
//
// Of a nil lease, as a failed Acquire returns, it is an [ErrNotHeld].
//
// Where the backend can and somebody of this Locker waits for the name, the request that releases
// the lease also grants the name to the first of those; so it does for at most 16 of them in a row
// and a tenth of a second, so that other processes get their turn.
func (le *Lease) Release(ctx context.Context) error {
	if le == nil {
		return errNoLease
	}
	tell, err := le.releaseOnce(ctx)
	tell() // not before: a trace may release the lease that it is told of
	return err
}

// releaseOnce also returns what tells of the release.
func (le *Lease) releaseOnce(ctx context.Context) (tell func(), err error) {
	tell = func() {}
	le.releasing.Do(func() {
		returned := false
		defer func() {
			if !returned { // the backend has panicked
				le.released = &opError{"release", le.grant.Key, ErrUnknown, errUntold}
			}
		}()
		tell, le.released = le.release(context.WithoutCancel(ctx))
		returned = true
	})
	return tell, le.released
}

// release also returns what tells of it.
func (le *Lease) release(ctx context.Context) (tell func(), outcome error) {
	now := le.locker.clock()
	le.mu.Lock()
	late := le.expire(now)
	before, other := le.err, le.ending
	if before == nil {
		le.err = ErrReleased
	}
	ended := le.err
	le.mu.Unlock()
	if late {
		le.ended()
	}
	le.unwatch()
	le.ctx.end(ended) // whoever has latched a loss may not have come to that yet
	le.locker.renewals.remove(le)

	round := le.lastRound()
	var found LostReason // by the store, just now
	err, handed := before, false
	if before == nil {
		if !le.endedBy(ctx, other) {
			handed, err = le.passOn(ctx, other == nil, now)
			found = lostReason(err)
		}
	} else if reason := lostReason(before); reason != LostTaken && reason != LostSession {
		le.locker.janitor.takeBack(le.leftover()) // frees the name sooner, if the store answers again
	}
	if le.doubt.requests > 0 {
		le.locker.janitor.takeBack(le.doubt.leftover(le.cfg, le.leftover().grant))
	}
	if !handed {
		le.wakeNext(round)
	}
	return func() {
		if found != 0 {
			emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), found, now.Since(le.granted), le.ctx})
		}
		emit(le.cfg, func(t *Trace) func(ReleasedEvent) { return t.Released }, ReleasedEvent{le.info(), now.Since(le.granted), err, le.ctx})
	}, err
}

// abandon releases a lease that was given to nobody.
func (le *Lease) abandon(ctx context.Context) error {
	le.mu.Lock()
	le.unheld = true
	le.mu.Unlock()
	return le.Release(ctx)
}

// ending is a ReleaseWith that has begun.
type ending struct {
	over  chan struct{} // closed when the function has returned
	ended bool          // it returned nil, and so the lease has ended; to be read once over is closed
}

var errEnding = errors.New("a ReleaseWith of this lease is under way")

// ReleaseWith ends the lease by what end does, and not by asking the store: by a transaction that
// gives back the lease's row together with the last of the work, for one. It waits for a renewal
// that is on its way, a few seconds at most, and lets none begin while end runs. The deadline goes on
// running, so end has the trust that is left; [Lease.Renew] before makes that the most. The ctx
// handed to end ends with ctx, of which it keeps the values, and with trust; [FromContext] finds the
// lease in it.
//
// When end returns nil, the lease has been released as by [Lease.Release], which then returns the
// same: nil, or an [ErrLost] if trust ended before end did. When end fails or panics, the lease is
// renewed at once and goes on. The error is then end's, and also an [ErrLost] or [ErrReleased] if the
// lease has ended meanwhile. If end may have ended the lease all the same, as after a commit without
// an answer, the renewal finds out.
//
// Without calling end it fails with what ended the lease before, and with [ErrUnavailable] when ctx
// ends before the renewal has or when another ReleaseWith of the lease is under way; so does Renew.
// Release and Close, while end runs, end the lease and with it end's ctx; they wait for end, a few
// seconds at most, and ask the store unless end returned nil. end must call none of these.
func (le *Lease) ReleaseWith(ctx context.Context, end func(ctx context.Context) error) error {
	if err := le.Err(); err != nil {
		return err
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

// begin tells Release of e, unless the lease has ended before.
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
	inner, leave := le.scope(ctx)
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

// endedBy says whether e has ended the lease. It waits for that as long as for an answer of the store.
func (le *Lease) endedBy(ctx context.Context, e *ending) bool {
	if e == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL))
	defer cancel()
	defer context.AfterFunc(le.locker.patience, cancel)()
	select {
	case <-e.over:
		return e.ended
	case <-ctx.Done():
		return false
	}
}

// passOn ends the lease: by handing it over to the first of this process who waits for the name, which it says,
// or else by letting it go.
func (le *Lease) passOn(ctx context.Context, plain bool, now clock.Instant) (handed bool, err error) {
	var to *heir
	if plain && le.mayPassOn(now) {
		to = le.locker.queues.takeHeir(le.grant.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL)) // for all requests of the release
	defer cancel()
	defer context.AfterFunc(le.locker.patience, cancel)()
	if to == nil {
		return false, le.letGo(ctx, false)
	}
	returned := false
	defer func() {
		if !returned { // the backend has panicked, and nobody holds the lease
			_ = le.letGo(ctx, true)
			le.locker.queues.wake(le.grant.Key)
		}
	}()
	h := le.handOver(ctx, to)
	returned = true
	if h.err == nil {
		return true, nil
	}
	return false, le.letGo(ctx, h.unknown > 0)
}

// mayPassOn says whether the store is to be passed by.
func (le *Lease) mayPassOn(now clock.Instant) bool {
	began := le.burst.began
	if le.burst.handed == 0 {
		began = le.granted
	}
	return le.locker.handing != nil && le.locker.closing.Err() == nil &&
		le.burst.handed < mostHanded && now.Since(began) < longestBurst &&
		(le.grant.MinHold == 0 || now.Since(le.granted) > le.grant.MinHold)
}

// handOver asks the store to end the lease and to grant its name to a waiter, and again if a reply is missing. The waiter
// is told what came of that, also where the backend panics.
func (le *Lease) handOver(ctx context.Context, to *heir) (h handOver) {
	h = handOver{burst: le.burst, first: le.locker.clock(), err: errUntold}
	defer func() { to.result <- h }()
	if h.burst.handed == 0 {
		h.burst.began = le.granted
	}
	h.burst.handed++
	for {
		h.requests++
		h.sent = le.locker.clock()
		h.unknown++
		h.grant, h.err = le.askHandOver(ctx, to.request)
		if answered(h.err) {
			h.unknown--
			return h
		}
		if h.requests == 2 || !backoff.Sleep(ctx, backoff.Jitter(10*time.Millisecond)) {
			return h
		}
	}
}

// askHandOver makes one attempt, short enough to leave time for another and for a release.
func (le *Lease) askHandOver(ctx context.Context, r driver.Request) (driver.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL)/3)
	defer cancel()
	return le.locker.handing.HandOver(ctx, le.grant, r)
}

var errEffect = errors.New("the store does not hold it any more, and may have let go by an earlier request whose reply is missing")

// letGo asks the store to end the lease, and asks again until ctx ends. In doubt an earlier request may have ended the lease,
// and so may a request of letGo whose reply was lost. A lease that is gone then is not called lost.
func (le *Lease) letGo(ctx context.Context, doubtful bool) error {
	retry := backoff.Backoff{Next: 10 * time.Millisecond, Most: 500 * time.Millisecond}
	for {
		err := le.askRelease(ctx)
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
			le.locker.janitor.takeBack(le.leftover())
			kind := ErrUnknown
			if driver.IsNotApplied(err) {
				kind = ErrUnavailable
			}
			return &opError{"release", le.grant.Key, kind, err}
		}
		doubtful = doubtful || !driver.IsNotApplied(err)
	}
}

// askRelease makes one attempt, short enough for another if the reply to it is lost.
func (le *Lease) askRelease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL)/3)
	defer cancel()
	return le.locker.backend.Release(ctx, le.leftover().grant)
}

func (le *Lease) leftover() leftover {
	le.mu.Lock()
	defer le.mu.Unlock()
	grant := le.grant
	if le.unheld {
		grant.MinHold = 0
	}
	return leftover{cfg: le.cfg, grant: grant, since: le.sent, certain: true}
}

// headStart is for how long the waiters of this process rely on the store to tell them of the end of a burst, as
// those of others do. A notification takes less on a machine that is not overloaded.
const headStart = 5 * time.Millisecond

// lastRound is, before le ends a burst, which round the queue for its name is in. Nobody else need know.
func (le *Lease) lastRound() uint64 {
	if le.burst.handed == 0 {
		return 0
	}
	return le.locker.queues.round(le.grant.Key)
}

// wakeNext wakes the first who waits for the name, now that it may be free. After a burst the store does where it can,
// and wakes others at the same time, who would come too late otherwise: then only a first who has not heard by then of
// what was let go in that round.
func (le *Lease) wakeNext(round uint64) {
	queues, key := &le.locker.queues, le.grant.Key
	if le.burst.handed > 0 && le.locker.Capabilities().Wakes && queues.told(key) {
		time.AfterFunc(headStart, func() { queues.wakeIn(round, key) })
		return
	}
	queues.wake(key)
}
