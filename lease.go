package rowlock

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// Token is a fencing token: each grant of a name has a larger token than the grant before it. Zero is never a valid
// token. Send the token with each write to the resource that the lock protects. The resource must reject a token that
// is smaller than the largest token that it has seen.
type Token = driver.Token

// Lease is one acquisition of one name. The Locker renews it until it is released or lost, or the Locker is closed. A
// lease cannot be acquired again, and is safe for concurrent use. Its getters do no I/O. Timers fire late after a
// suspension, so the method Err of a lease reads the clocks. The method Err of a context of the lease also reads the
// clocks.
type Lease struct {
	locker  *Locker
	cfg     *settings
	grant   driver.Grant
	granted clock.Instant // just before the request that acquired the lease was sent, or the renewal that confirmed the grant
	ctx     trusted
	doubt   doubt // the requests of the acquisition whose outcome is unknown
	series  series

	mu            sync.Mutex
	trustFrom     clock.Instant // from when the TTL counts: just before the last successful request was sent, or an earlier request that the store recorded
	term          time.Duration // the TTL in the last successful request
	err           error         // why the lease ended; nil while it is held, and never changed after its end
	fail          error         // the error of the last renewal; nil if that renewal succeeded
	recording     bool          // true if the release records the tick
	neverReturned bool          // true if no caller ever had the lease, so MinHold does not apply

	stopWatching func() bool // ends the watch of the grant's session
	ending       *ending     // the last call of ReleaseWith that has begun; nil if there was none

	releasing chan struct{} // closed when the release is over; nil before the first call of Release, and guarded by mu
	released  error         // the result of the release, when it is over

	plan plan // guarded by renewals.mu
}

func newLease(a *acquisition, g driver.Grant, began, trustFrom clock.Instant) *Lease {
	le := &Lease{locker: a.locker, cfg: a.cfg, grant: g, granted: began, trustFrom: trustFrom, term: g.TTL, doubt: a.doubt}
	inner, end := context.WithCancelCause(context.WithoutCancel(a.ctx))
	le.ctx = trusted{inner, []*Lease{le}, end}
	return le
}

// Name returns the name of the lock.
func (le *Lease) Name() string { return le.grant.Key.Name }

// Namespace returns the namespace of the name. It is empty unless the option [Namespace] was given.
func (le *Lease) Namespace() string { return le.grant.Key.Namespace }

// Token returns the fencing token of this lease. It does not change.
func (le *Lease) Token() Token { return le.grant.Token }

// Nonce returns the random number that identifies this acquisition. The nonce and the token together identify
// the lease, even if a store that lost its history has granted a token twice.
func (le *Lease) Nonce() driver.Nonce { return le.grant.Nonce }

// Shared reports whether the lease is shared with other readers. See [Shared].
func (le *Lease) Shared() bool { return le.grant.Shared }

// Backend returns the name of the backend that granted the lease, as given in its Capabilities.
// It returns "" if the backend has no name. Tokens of two backends cannot be compared.
func (le *Lease) Backend() string { return le.locker.caps.Backend }

// MinHold returns the minimum time for which the name stays unavailable after the grant, even after a release.
// The option [MinHold] sets this time.
func (le *Lease) MinHold() time.Duration { return le.grant.MinHold }

// Holder returns the text that describes the holder to others.
func (le *Lease) Holder() string { return le.cfg.holder }

// String returns the name, namespace, holder and token, for logs. It may be called at any time.
func (le *Lease) String() string {
	name := strconv.Quote(le.Name())
	if space := le.Namespace(); space != "" {
		name += " in " + strconv.Quote(space)
	}
	return name + " of " + le.Holder() + ", token " + le.Token().String()
}

// Context returns a context that ends when the lease is no longer trusted. It has the values of the ctx that acquired
// the lease, but not its cancellation. context.Cause returns a [*LostError] or [ErrReleased]. After a suspension,
// Done may be closed late. Err is never late, because it reads the clocks.
func (le *Lease) Context() context.Context { return le.ctx }

// Err returns nil while the lease is held and trusted. Afterwards it returns the reason of the end, which
// never changes: a [*LostError] or [ErrReleased].
func (le *Lease) Err() error {
	now := le.locker.clock()
	le.mu.Lock()
	err, late := le.err, le.expire(now)
	if late {
		err = le.err
	}
	le.mu.Unlock()
	if late {
		le.ended()
	}
	return err
}

// ExpiresAt returns the time at which the lease stops being trusted unless it is renewed. This is the time just before
// the last successful request was sent, plus the TTL, minus the margin. The end of a [MaxHold] may be earlier, and is
// then the result. The result is meaningless for a lease that has ended.
func (le *Lease) ExpiresAt() time.Time {
	now := le.locker.clock()
	le.mu.Lock()
	defer le.mu.Unlock()
	return now.At.Add(le.left(now))
}

// Renew renews the lease now, in addition to the renewals in the background. ctx limits the request. If the
// lease has ended, the error is an [ErrNotHeld], and also an [ErrLost] or [ErrReleased]. If no reply came,
// the error is an [ErrUnknown], and the lease stays held until its deadline.
func (le *Lease) Renew(ctx context.Context) error {
	if err := le.Err(); err != nil {
		return err
	}
	if err := le.locker.renewals.renewNow(ctx, le); err != nil {
		return err
	}
	return le.Err()
}

// run calls fn with a context of the lease, and then releases the lease. Do uses it.
func (le *Lease) run(ctx context.Context, fn func(context.Context, *Lease) error) error {
	return le.ctx.run(ctx, func(inner context.Context) error { return fn(inner, le) }, func(err error) error {
		return addLoss(err, le.Release(ctx))
	})
}

// reenter calls fn for a nested Do with the option [Reenter]. It does not release the lease, because the outer Do
// does so.
func (le *Lease) reenter(ctx context.Context, fn func(context.Context, *Lease) error) error {
	return le.ctx.run(ctx, func(inner context.Context) error { return fn(inner, le) }, func(err error) error {
		return addLoss(err, le.Err())
	})
}

// left returns how long the lease is still trusted. The caller holds mu.
func (le *Lease) left(now clock.Instant) time.Duration {
	return min(le.term-le.margin()-now.Since(le.trustFrom), le.holdLeft(now))
}

// holdLeft returns the time until the maximum hold is over.
func (le *Lease) holdLeft(now clock.Instant) time.Duration {
	if le.cfg.maxHold == 0 {
		return math.MaxInt64
	}
	return le.cfg.maxHold - now.Since(le.granted)
}

// renewalRequest returns the grant to renew. Its TTL is shorter than the granted TTL if the maximum hold ends
// earlier.
func (le *Lease) renewalRequest(now clock.Instant) driver.Grant {
	g := le.grant
	g.TTL = le.cfg.termFor(g.TTL, le.holdLeft(now))
	return g
}

// holdsToTheEnd reports whether the store keeps the lease until its maximum hold is over, so that no renewal
// is due. The caller holds mu.
func (le *Lease) holdsToTheEnd() bool {
	return le.cfg.maxHold > 0 && le.trustFrom.Since(le.granted)+le.term-le.margin() >= le.cfg.maxHold
}

// margin returns how long before the end of its TTL the lease stops being trusted. The margin is smaller if the store
// granted less than the TTL of the options.
func (le *Lease) margin() time.Duration { return min(le.cfg.margin, le.grant.TTL/2) }

// remaining returns how long le is still trusted, and when that ends by the monotonic clock.
func (le *Lease) remaining(now clock.Instant) (left time.Duration, ends time.Time) {
	le.mu.Lock()
	defer le.mu.Unlock()
	left = le.left(now)
	return left, now.At.Add(left)
}

// nextRenewal returns the time at which to renew le. If the store keeps the lease until the maximum hold is over, no
// renewal is needed, and nextRenewal returns the end of the maximum hold.
func (le *Lease) nextRenewal() time.Time {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.holdsToTheEnd() {
		return le.granted.At.Add(le.cfg.maxHold)
	}
	return le.trustFrom.At.Add(le.renewEvery())
}

// renewEvery returns the time between renewals. If the store granted less than the TTL of the options, the result
// leaves time for a second attempt.
func (le *Lease) renewEvery() time.Duration {
	if le.grant.TTL >= le.cfg.ttl {
		return le.cfg.renewEvery
	}
	return min(le.cfg.renewEvery, (le.grant.TTL-le.margin())/2)
}

// early returns how much earlier le may be renewed in order to join a batch.
func (le *Lease) early() time.Duration { return le.renewEvery() / 4 }

// attemptTimeout returns the timeout of a renewal. If the renewal hangs, enough time remains before the deadline for
// more attempts.
func (le *Lease) attemptTimeout(now clock.Instant) time.Duration {
	left, _ := le.remaining(now)
	return max(min(5*time.Second, max(left/3, le.grant.TTL/10)), 5*time.Millisecond)
}

// expire marks the lease as lost if its time is over or its session has ended, and reports whether it did so.
// The caller holds mu. If the result is true, the caller must unlock mu and then call the method ended.
func (le *Lease) expire(now clock.Instant) bool {
	if le.err != nil {
		return false
	}
	if le.left(now) > 0 {
		over := le.grant.Session != nil && le.grant.Session.Err() != nil
		if over {
			le.err = le.lost(LostSession)
		}
		return over
	}
	if le.cfg.maxHold > 0 && now.Since(le.granted) >= le.cfg.maxHold {
		le.err = le.lost(LostMaxHold)
		return true
	}
	lost := le.lost(LostExpired)
	lost.Err = le.fail
	le.err = lost
	return true
}

// check marks the lease as lost if its time is over or its session has ended.
func (le *Lease) check(now clock.Instant) {
	le.mu.Lock()
	late := le.expire(now)
	le.mu.Unlock()
	if late {
		le.ended()
	}
}

// look returns the time at which the trust in le ends, whether le has ended, and whether this call has marked le as
// lost. If this call has marked le as lost, the caller must call the method ended. All results use the same reading of
// the clocks. With two readings, a lease could end between them, and its end could be missed.
func (le *Lease) look(now clock.Instant) (ends time.Time, over, late bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	late = le.expire(now)
	return now.At.Add(le.left(now)), le.err != nil, late
}

func (le *Lease) hasEnded() bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.err != nil
}

func (le *Lease) lost(reason LostReason) *LostError {
	return &LostError{Namespace: le.Namespace(), Name: le.Name(), Token: le.Token(), Reason: reason}
}

// lose marks the lease as lost after the store or the session has reported the loss.
func (le *Lease) lose(reason LostReason) {
	le.mu.Lock()
	first := le.err == nil
	if first {
		le.err = le.lost(reason)
	}
	le.mu.Unlock()
	if first {
		le.ended()
	}
}

// confirm moves the deadline after a successful renewal. If the reply came after the old deadline,
// the lease is lost and stays lost. confirm returns how long the lease was still trusted when the reply came,
// and whether it is held.
func (le *Lease) confirm(sent, now clock.Instant, term time.Duration) (left time.Duration, held bool) {
	le.mu.Lock()
	late := le.expire(now)
	held = le.err == nil
	if held {
		left = le.left(now)
		le.fail = nil
		if le.trustFrom.At.Before(sent.At) {
			le.trustFrom, le.term = sent, term
		}
	}
	le.mu.Unlock()
	if late {
		le.ended()
	}
	return left, held
}

// failed records the error of a renewal.
func (le *Lease) failed(err error) {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.fail = err
}

// ended ends the context and the renewals of a lease that was just marked as lost. It does not block.
func (le *Lease) ended() {
	le.unwatch()
	le.ctx.end(le.err)
	le.locker.renewals.retire(le)
}

func (le *Lease) tellLost(now clock.Instant) {
	emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), lostReason(le.err), now.Since(le.granted), le.ctx})
}

// watch marks le as lost as soon as its session ends.
func (le *Lease) watch() {
	if le.grant.Session == nil {
		return
	}
	stop := context.AfterFunc(le.grant.Session, func() { le.lose(LostSession) })
	le.mu.Lock()
	le.stopWatching = stop
	over := le.err != nil
	le.mu.Unlock()
	if over {
		stop()
	}
}

// unwatch stops watching the session.
func (le *Lease) unwatch() {
	le.mu.Lock()
	stop := le.stopWatching
	le.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// endSession releases a session lock in the store at once if its maximum hold is over. Otherwise the store would keep
// the lock while the holder hangs. After any other loss, the holder may still be working, and the store may still keep
// the lock for it. endSession then leaves the lock in the store until the holder calls Release.
func (le *Lease) endSession(reason LostReason) (tell func()) {
	if le.grant.Session != nil && reason == LostMaxHold {
		return le.locker.janitor.take(le.leftover())
	}
	return func() {}
}

func (le *Lease) info() LeaseInfo {
	return LeaseInfo{LockInfo: lockInfo(le.grant.Key, le.cfg.holder), Token: le.Token()}
}

// lostReason returns the reason in err, or zero if err is not a [*LostError].
func lostReason(err error) LostReason {
	var lost *LostError
	if errors.As(err, &lost) {
		return lost.Reason
	}
	return 0
}
