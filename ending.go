package rowlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/internal/oneline"
)

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
	if err := le.locker.renewals.pause(ctx, le); err != nil {
		return err
	}
	e := &ending{over: make(chan struct{})}
	err := le.begin(e)
	if err == nil {
		err = le.endBy(ctx, e, end)
	} else {
		le.locker.renewals.resume(le)
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
			le.locker.renewals.resume(le)
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

// pause lets no renewal of le begin until resume, and returns when none is on its way.
func (r *renewals) pause(ctx context.Context, le *Lease) error {
	r.mu.Lock()
	if le.plan.paused {
		r.mu.Unlock()
		return &opError{"release", le.grant.Key, ErrUnavailable, errEnding}
	}
	le.plan.paused = true
	idle := make(chan struct{})
	if le.plan.requests > 0 {
		le.plan.idle = idle
	} else {
		close(idle)
	}
	r.mu.Unlock()
	select {
	case <-idle:
	case <-le.ctx.Done():
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return nil
	}
	r.resume(le)
	return &opError{"release", le.grant.Key, ErrUnavailable, context.Cause(ctx)}
}

// resume has le renewed at once, and then as usual.
func (r *renewals) resume(le *Lease) {
	now := r.locker.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	le.plan.paused = false
	r.at(le, now.at)
}
