package rowlock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// errWaitOver is the cause of a wait that ended by the option Wait.
var errWaitOver = errors.New("wait is over")

// Acquire waits for the name and returns a lease on it. ctx bounds the waiting and nothing else:
// the lease is renewed until it is released, whatever becomes of ctx. The option [Wait] bounds the
// waiting, too; a request that is under way when it ends is let finish, a few seconds at most. So is
// one that takes the name over from a holder of this Locker when ctx ends: it is the holder's release.
//
// Callers of one Locker that wait for the same name are served first come, first served, and only
// the first of them asks the store.
//
// A name cannot be acquired inside itself: with a ctx that carries a lease of the name from this backend, which is held, the
// call fails at once with [ErrNested].
//
// The error is an [ErrHeld] (a [*HeldError] says by whom) when the wait was over; joined with ctx's
// error when ctx ended first; an [ErrUnavailable] when the store said nothing for as long as one
// TTL, a minute at most, or granted too late for the TTL or the [MaxHold] each time, or refused in a
// way that asking again does not mend; [ErrClosed]; or says which option or name cannot work. A failed Acquire leaves nothing behind: a request that the
// store may grant later is withdrawn before it returns, a second or two at most, and one whose reply is missing is taken back
// in the background.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...Option) (*Lease, error) {
	a, err := l.newAcquisition(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	if a.cfg.waitSet && a.cfg.wait == 0 {
		return a.run(a.try)
	}
	return a.run(a.wait)
}

// TryAcquire asks for the name and answers at once: with a lease, an [ErrHeld], or any other error
// of [Locker.Acquire]. It waits for nobody, and does not queue behind those who do. The store is
// given a few seconds to answer, and is asked again only if a reply is missing. ctx bounds that.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...Option) (*Lease, error) {
	a, err := l.newAcquisition(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return a.run(a.try)
}

// Do acquires the name, waiting as [Locker.Acquire] does, runs fn, and releases. The ctx handed to
// fn ends when ctx does or when the lease is trusted no more; [FromContext] finds the lease in it.
//
// Do returns what fn returned. When the lease was lost while fn ran, the error is an [ErrLost] as
// well, even if fn returned nil. A release whose answer is missing does not make it fail: the work
// was done under the lock, and the name frees itself. When fn panics, the lease is released.
func (l *Locker) Do(ctx context.Context, name string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	lease, err := l.Acquire(ctx, name, opts...)
	if err != nil {
		return err
	}
	return lease.run(ctx, fn)
}

// TryDo is Do with [Locker.TryAcquire]: it fails with [ErrHeld] at once when the name is taken.
func (l *Locker) TryDo(ctx context.Context, name string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	lease, err := l.TryAcquire(ctx, name, opts...)
	if err != nil {
		return err
	}
	return lease.run(ctx, fn)
}

// run is the scope of Do.
func (le *Lease) run(ctx context.Context, fn func(context.Context, *Lease) error) (err error) {
	inner, leave := le.scope(ctx)
	defer func() {
		leave()
		released := le.Release(ctx)
		if errors.Is(released, ErrLost) && !errors.Is(err, ErrLost) {
			err = oneline.Join(err, released)
		}
	}()
	return fn(inner, le)
}

// scope is a context that ends with ctx and with the lease's trust. It must be left.
func (le *Lease) scope(ctx context.Context) (scope context.Context, leave func()) {
	inner, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(le.ctx, func() { cancel(context.Cause(le.ctx)) })
	return trusted{inner, le, cancel}, func() {
		stop()
		cancel(nil)
	}
}

// run acquires by one of the two below and seals. A function of a [Trace] or a guard that panics, or ends the
// goroutine, leaves no lease behind that nobody has and that is renewed for ever.
func (a *acquisition) run(by func() (*Lease, error)) (le *Lease, err error) {
	returned := false
	defer func() {
		if !returned && a.lease != nil {
			_ = a.lease.abandon(a.ctx)
		}
	}()
	le, err = a.sealed(by())
	returned = true
	return le, err
}

// try makes one attempt, and another only to learn what became of it.
func (a *acquisition) try() (*Lease, error) {
	timeout := callTimeout(a.cfg.ttl)
	ctx, cancel := context.WithTimeout(a.ctx, timeout)
	defer cancel()
	retry := backoff{next: 10 * time.Millisecond, most: 200 * time.Millisecond}
	for {
		lease, next := a.attempt(ctx, timeout/2)
		if lease != nil {
			return lease, nil
		}
		if next != again || a.lastCertain || !sleep(ctx, retry.step()) {
			return nil, a.giveUp()
		}
	}
}

// wait queues behind the waiters of this process, and then asks until the name is had.
func (a *acquisition) wait() (*Lease, error) {
	a.waits, a.among = true, &a.locker.waiters
	a.among.count(1, 0)
	defer func() {
		a.among.count(-1, 0)
		a.among = nil
	}()
	place := a.locker.queues.join(a.key)
	defer place.leave()
	var ctx context.Context // made with the first wait: who need not wait pays nothing for it
	bound := func() {
		if ctx == nil {
			ctx, a.stopWaiting = a.waitContext()
		}
	}
	defer func() {
		if a.stopWaiting != nil {
			a.stopWaiting()
		}
	}()
	if place.ahead > 0 {
		bound()
		a.waiting(place.ahead)
		select {
		case <-place.first:
		case <-ctx.Done():
		}
		a.held = place.refusal() // whoever stood before has just been granted the name, most likely
		if ctx.Err() != nil {
			return nil, a.giveUp()
		}
	}
	poll := newPoll()
	if place.follows(a) && !a.rest(ctx, place, poll.pause(nil, true)) {
		return nil, a.giveUp()
	}
	for {
		var lease *Lease
		var next verdict
		began := time.Now()
		queued := a.held != nil && a.err == nil && a.locker.queuer != nil // after a failure, first whether the store is there
		switch {
		case a.locker.enterer != nil:
			lease, next, queued = a.enter(func() context.Context {
				bound()
				if a.held != nil {
					place.refused(a.held)
				}
				a.waiting(0)
				return ctx
			})
		case queued:
			lease, next = a.queued(ctx)
		default:
			lease, next = a.attempt(a.ctx, callTimeout(a.cfg.ttl))
		}
		if lease != nil {
			place.served = true
			return lease, nil
		}
		bound()
		switch {
		case next == stop || ctx.Err() != nil:
			return nil, a.giveUp()
		case next == refused:
			place.refused(a.held)
			a.waiting(0)
			if a.subscribe(place) && !a.refusal.Pending {
				continue // it may have become free before the store was told to tell us
			}
			if a.locker.queuer != nil && !queued {
				continue // into the store's queue
			}
		}
		pause := poll.pause(a.refusal, queued || place.follows(a) || place.notified() && a.locker.Capabilities().Wakes)
		if queued {
			pause -= time.Since(began)
		}
		if !a.rest(ctx, place, pause) {
			return nil, a.giveUp()
		}
	}
}

// waitContext ends when the caller's does, when its Wait is over, or when the locker is closed.
func (a *acquisition) waitContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(a.ctx)
	if a.locker.closing.Err() != nil { // AfterFunc would take a moment, in which a waiter subscribes
		cancel(ErrClosed)
	}
	stopClosing := context.AfterFunc(a.locker.closing, func() { cancel(ErrClosed) })
	stopTimer := func() {}
	if a.cfg.waitSet {
		ctx, stopTimer = context.WithTimeoutCause(ctx, a.cfg.wait-time.Since(a.started), errWaitOver)
	}
	return ctx, func() {
		stopTimer()
		stopClosing()
		cancel(nil)
	}
}
