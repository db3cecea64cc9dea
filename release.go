package rowlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
)

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
	le.releasing.Do(func() { tell, le.released = le.release(context.WithoutCancel(ctx)) })
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

	turn := le.lastTurn()
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
		le.wakeNext(turn)
	}
	return func() {
		if found != 0 {
			emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), found, now.since(le.granted), le.ctx})
		}
		emit(le.cfg, func(t *Trace) func(ReleasedEvent) { return t.Released }, ReleasedEvent{le.info(), now.since(le.granted), err, le.ctx})
	}, err
}

var errNoLease = fmt.Errorf("%w: the lease is nil", ErrNotHeld)

var errEffect = errors.New("the store does not hold it any more, and may have let go by an earlier request whose reply is missing")

// letGo asks the store to end the lease, and again until its limit is reached. In doubt an earlier request may have
// ended it, as one of its own may whose reply is lost: then it is not known that it was lost before.
func (le *Lease) letGo(ctx context.Context, doubtful bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout(le.grant.TTL))
	defer cancel()
	defer context.AfterFunc(le.locker.patience, cancel)()
	retry := backoff{next: 10 * time.Millisecond, most: 500 * time.Millisecond}
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
		if !sleep(ctx, retry.step()) {
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

// abandon releases a lease that was given to nobody.
func (le *Lease) abandon(ctx context.Context) error {
	le.mu.Lock()
	le.unheld = true
	le.mu.Unlock()
	return le.Release(ctx)
}
