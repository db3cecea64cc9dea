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
	"github.com/rowlock/rowlock/internal/oneline"
)

// Token is a fencing token: strictly larger with each grant of one name, for ever. Zero is never
// valid. Hand it to whatever the lock protects, and let that refuse a smaller token than the
// largest it has seen.
type Token = driver.Token

// Lease is one holding of one name. It is renewed until it is released, lost, or its locker is
// closed. It is single-use and safe for concurrent use. Its getters never do I/O. Err, and the Err of its
// contexts, look at the clocks, because timers are late after a pause.
type Lease struct {
	locker  *Locker
	cfg     *settings
	grant   driver.Grant
	granted clock.Instant // before the request that acquired it was sent
	ctx     trusted
	doubt   doubt // requests of the acquisition whose replies are missing
	burst   burst

	mu     sync.Mutex
	sent   clock.Instant // before the last successful request was sent
	term   time.Duration // that it asked the store for
	err    error         // nil while held; latches
	fail   error         // of the last renewal; nil if it succeeded
	unheld bool          // it was given to nobody, so that there is no hold to have a minimum

	session      context.Context // that it lives on; nil where there is none
	stopWatching func() bool     // of the session
	ending       *ending         // the last ReleaseWith

	releasing sync.Once
	released  error

	plan plan // of the renewals, under their lock
}

func newLease(a *acquisition, g driver.Grant, sent, counted clock.Instant) *Lease {
	le := &Lease{locker: a.locker, cfg: a.cfg, grant: g, granted: sent, sent: counted, term: g.TTL, doubt: a.doubt}
	inner, end := context.WithCancelCause(context.WithoutCancel(a.ctx))
	le.ctx = trusted{inner, le, end}
	return le
}

// Name is the name that is held.
func (le *Lease) Name() string { return le.grant.Key.Name }

// Namespace is the namespace of the name; empty unless the option [Namespace] was given.
func (le *Lease) Namespace() string { return le.grant.Key.Namespace }

// Token is the fencing token of this lease. It does not change.
func (le *Lease) Token() Token { return le.grant.Token }

// Nonce identifies this acquisition: random, and known to nobody else. With the token it tells this
// lease from every other, even where a store that lost its history granted one token twice.
func (le *Lease) Nonce() driver.Nonce { return le.grant.Nonce }

// Backend names the kind of store that granted the lease, as its Capabilities do; empty if it has no
// name. Tokens of two kinds of store are not comparable.
func (le *Lease) Backend() string { return le.locker.caps.Backend }

// MinHold is how long after it was acquired the name stays closed at least, released or not: what
// the option [MinHold] asked for.
func (le *Lease) MinHold() time.Duration { return le.grant.MinHold }

// Holder is what others are told of who holds the name.
func (le *Lease) Holder() string { return le.cfg.holder }

// String is what a log needs of the lease: its name, namespace, holder and token. It may be called at any time.
func (le *Lease) String() string {
	name := strconv.Quote(le.Name())
	if space := le.Namespace(); space != "" {
		name += " in " + strconv.Quote(space)
	}
	return name + " of " + le.Holder() + ", token " + le.Token().String()
}

// Context is done when the lease is trusted no more. It keeps the values of the ctx that acquired
// the lease, not its cancellation. context.Cause says why it ended: a [*LostError] or
// [ErrReleased]. Its Err looks at the clocks and so is never late, even if Done is because the
// process was paused.
func (le *Lease) Context() context.Context { return le.ctx }

// Err is nil while the lease is held and trusted. Afterwards it is what ended it, for good: a
// [*LostError] or [ErrReleased].
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

// ExpiresAt is when trust in the lease ends unless it is renewed: the time of the last successful
// request, counted from before it was sent, plus the TTL, less the margin. Of a lease that has
// ended it says nothing.
func (le *Lease) ExpiresAt() time.Time {
	now := le.locker.clock()
	le.mu.Lock()
	defer le.mu.Unlock()
	return now.At.Add(le.left(now))
}

// Renew renews the lease now, besides what is done in the background. ctx bounds the request. The
// error is an [ErrNotHeld] when the lease has ended (then also [ErrLost] or [ErrReleased]), and an
// [ErrUnknown] when no answer came, after which the lease is still held until its deadline.
func (le *Lease) Renew(ctx context.Context) error {
	if err := le.Err(); err != nil {
		return err
	}
	if err := le.locker.renewals.renewNow(ctx, le); err != nil {
		return err
	}
	return le.Err()
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

// left is how long the lease is still trusted. The caller holds mu.
func (le *Lease) left(now clock.Instant) time.Duration {
	return min(le.term-le.margin()-now.Since(le.sent), le.holdLeft(now))
}

// holdLeft is what is left of the maximum hold.
func (le *Lease) holdLeft(now clock.Instant) time.Duration {
	if le.cfg.maxHold == 0 {
		return math.MaxInt64
	}
	return le.cfg.maxHold - now.Since(le.granted)
}

// asked is the grant as a renewal asks for it: for its TTL, but for no longer than what is left of the maximum hold.
func (le *Lease) asked(now clock.Instant) driver.Grant {
	g := le.grant
	g.TTL = le.cfg.termFor(g.TTL, le.holdLeft(now))
	return g
}

// holdsToTheEnd says whether the store holds the lease to the end of its maximum hold, so that no renewal is due. The caller holds mu.
func (le *Lease) holdsToTheEnd() bool {
	return le.cfg.maxHold > 0 && le.sent.Since(le.granted)+le.term-le.margin() >= le.cfg.maxHold
}

// margin follows the TTL where a store granted less than was asked for.
func (le *Lease) margin() time.Duration { return min(le.cfg.margin, le.grant.TTL/2) }

// remaining is how long le is trusted yet, and when that ends by the monotonic clock.
func (le *Lease) remaining(now clock.Instant) (left time.Duration, ends time.Time) {
	le.mu.Lock()
	defer le.mu.Unlock()
	left = le.left(now)
	return left, now.At.Add(left)
}

// nextRenewal is when to renew le. What the store holds until the maximum hold is over is not renewed.
func (le *Lease) nextRenewal() time.Time {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.holdsToTheEnd() {
		return le.granted.At.Add(le.cfg.maxHold)
	}
	return le.sent.At.Add(le.renewEvery())
}

// renewEvery follows the TTL where a store granted less than was asked for, with time for a second try.
func (le *Lease) renewEvery() time.Duration {
	if le.grant.TTL >= le.cfg.ttl {
		return le.cfg.renewEvery
	}
	return min(le.cfg.renewEvery, (le.grant.TTL-le.margin())/2)
}

// early is by how much le may be renewed before its time, to travel with others.
func (le *Lease) early() time.Duration { return le.renewEvery() / 4 }

// attemptTimeout bounds a renewal so that, if it hangs, there is time for more of them before the deadline.
func (le *Lease) attemptTimeout(now clock.Instant) time.Duration {
	left, _ := le.remaining(now)
	return max(min(5*time.Second, max(left/3, le.grant.TTL/10)), 5*time.Millisecond)
}

// expire latches the loss of a lease whose time is up or whose session has ended, and says whether it did. The caller holds
// mu, and calls ended afterwards without it.
func (le *Lease) expire(now clock.Instant) bool {
	if le.err != nil {
		return false
	}
	if le.left(now) > 0 {
		over := le.session != nil && le.session.Err() != nil
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

// check ends a lease whose time is up.
func (le *Lease) check(now clock.Instant) {
	le.mu.Lock()
	late := le.expire(now)
	le.mu.Unlock()
	if late {
		le.ended()
	}
}

// look says when trust in le ends, whether it has, and whether that was latched just now: then the caller calls
// ended. What is not over is still to be looked at, so both are told from one reading.
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

// lose latches a loss that the store has told of.
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

// confirm counts the deadline anew from a successful renewal, unless that came too late: a reply
// never revives a lease. It returns how much trust was left when the reply came.
func (le *Lease) confirm(sent, now clock.Instant, term time.Duration) (left time.Duration, held bool) {
	le.mu.Lock()
	late := le.expire(now)
	held = le.err == nil
	if held {
		left = le.left(now)
		le.fail = nil
		if le.sent.At.Before(sent.At) {
			le.sent, le.term = sent, term
		}
	}
	le.mu.Unlock()
	if late {
		le.ended()
	}
	return left, held
}

// failed notes how a renewal failed.
func (le *Lease) failed(err error) {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.fail = err
}

// ended tells everyone of a loss that was just latched, without waiting for anything.
func (le *Lease) ended() {
	le.unwatch()
	le.ctx.end(le.err)
	le.locker.renewals.retire(le)
}

func (le *Lease) tellLost(now clock.Instant) {
	emit(le.cfg, func(t *Trace) func(LostEvent) { return t.Lost }, LostEvent{le.info(), lostReason(le.err), now.Since(le.granted), le.ctx})
}

// watch ends le as soon as its session does.
func (le *Lease) watch() {
	if le.locker.sessions == nil {
		return
	}
	session := le.locker.sessions.Session(le.grant)
	stop := context.AfterFunc(session, func() { le.lose(LostSession) })
	le.mu.Lock()
	le.session, le.stopWatching = session, stop
	over := le.err != nil
	le.mu.Unlock()
	if over {
		stop()
	}
}

// unwatch lets go of the session of a lease that has ended.
func (le *Lease) unwatch() {
	le.mu.Lock()
	stop := le.stopWatching
	le.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// letSessionGo takes back at once what the store would keep for as long as the holder hangs: that is
// what a maximum hold is for. After other losses the name waits for the holder's Release, which is the
// safer way where the store itself does not take the name away.
func (le *Lease) letSessionGo(reason LostReason) (tell func()) {
	if le.locker.sessions != nil && reason == LostMaxHold {
		return le.locker.janitor.take(le.leftover())
	}
	return func() {}
}

func (le *Lease) info() LeaseInfo {
	return LeaseInfo{LockInfo: lockInfo(le.grant.Key, le.cfg.holder), Token: le.Token()}
}

// reason is why a lease was lost, zero if it was not.
func lostReason(err error) LostReason {
	var lost *LostError
	if errors.As(err, &lost) {
		return lost.Reason
	}
	return 0
}
