package rowlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxTick is the limit of a tick, in bytes.
const maxTick = 128

// ErrDone: the function has already succeeded for this tick, so [Once] has not called it again.
var ErrDone = errors.New("rowlock: the tick is done")

var errNotRecorded = errors.New("the lease was released before the tick was recorded")

// Once runs fn under the lock on name, unless fn has already succeeded for tick. A tick is one occasion of a schedule,
// such as the day for which a nightly job runs. Any text of 1 to 128 printable ASCII characters identifies a tick, and
// [TickOf] makes one of a time. Of all processes that call Once for a tick, one runs fn. The others get [ErrDone].
//
// If fn returns nil, the release of the lease records the tick as done, in the same step. Once returns nil only if the
// tick is recorded. If fn fails or panics, or if the process crashes, the tick stays open: it is not done, and the next
// caller runs fn. The store keeps only the last tick of each name. If ticks are times or whole numbers, every tick
// before the last one also counts as done (see [IsDone]). If ticks are other texts, only the last one counts as done.
//
// If the lease is lost while fn runs, the error is an [ErrLost], and another caller may run fn for the same tick. So fn
// may have succeeded although its tick was not recorded. To rule that out, end the lease with ReleaseOnCommit of
// package fence: it records the tick in the transaction of fn's writes.
//
// If the name is held, Once waits as [Locker.Do] does, and then returns ErrDone if the tick is done by then. With
// Wait(0) it returns an [ErrHeld] instead of waiting. The options and the other errors are those of Do. If the release
// gets no reply, the error is an [ErrUnknown], and the tick may be open or done.
//
// Lease rows, Redis, etcd, ZooKeeper and package memlock keep ticks ([driver.Capabilities].Ticks). With other stores
// and with shared locks, the error is an [errors.ErrUnsupported]. [Locker.Prune] deletes a name's tick together with
// the name.
func Once(ctx context.Context, locker *Locker, name, tick string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	lease, err := locker.AcquireOnce(ctx, name, tick, opts...)
	if err != nil {
		return err
	}
	return lease.runOnce(ctx, fn)
}

// AcquireOnce acquires name for a tick as [Once] does. It fails with [ErrDone] if the tick is done. When the work has
// succeeded, call [Lease.ReleaseDone], which records the tick as done. [Lease.Release] leaves the tick open.
func (l *Locker) AcquireOnce(ctx context.Context, name, tick string, opts ...Option) (*Lease, error) {
	if err := checkTick(tick); err != nil {
		return nil, err
	}
	if !l.caps.Ticks {
		return nil, fmt.Errorf("rowlock: Once: backend %s keeps no ticks (use lease rows, Redis, or an exclusive lock in etcd or ZooKeeper): %w", l.caps.Backend, errors.ErrUnsupported)
	}
	a, err := l.newAcquisition(ctx, name, append(opts[:len(opts):len(opts)], forTick(tick)))
	if err != nil {
		return nil, err
	}
	return a.run(a.unlessDone)
}

// ReleaseDone records the tick of the lease as done and releases the lease, in one request. It returns nil only if the
// tick is recorded. Otherwise the errors are those of [Lease.Release]. After an [ErrUnknown] the tick may be open or
// done. The lease must come from [Locker.AcquireOnce] or [Once].
func (le *Lease) ReleaseDone(ctx context.Context) error {
	if le == nil {
		return errNoLease
	}
	if le.Tick() == "" {
		return fmt.Errorf("rowlock: release %s: the lease has no tick: use AcquireOnce", excerpt(le.grant.Key.String()))
	}
	le.record()
	err := le.Release(ctx)
	if err == nil && !le.recorded() {
		err = fmt.Errorf("rowlock: release %s: tick %s: %w", excerpt(le.grant.Key.String()), excerpt(le.Tick()), errNotRecorded)
	}
	return err
}

// TickOf returns the tick that t belongs to, where the parameter every is the time between two ticks. The result is t
// rounded down to a multiple of that time, in UTC. Days begin at midnight UTC and weeks on Mondays. If the parameter every
// is not positive, the result is empty, which [Once] and [Locker.AcquireOnce] refuse.
func TickOf(t time.Time, every time.Duration) string {
	if every <= 0 {
		return ""
	}
	return t.UTC().Truncate(every).Format(time.RFC3339Nano)
}

func checkTick(tick string) error {
	switch {
	case tick == "":
		return errors.New("rowlock: Once: the tick is empty")
	case len(tick) > maxTick:
		return fmt.Errorf("rowlock: Once: tick %s has %d bytes: the limit is %d", excerpt(tick), len(tick), maxTick)
	case strings.ContainsFunc(tick, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("rowlock: Once: tick %s must be printable ASCII, which every database can store", excerpt(tick))
	}
	return nil
}

// IsDone reports whether a tick is done. The parameter last is the tick that was recorded last, as in [Status].Done.
// A tick is done if it is equal to last. If both are times, an earlier tick is also done. If both are whole numbers, a
// smaller tick is also done. A time is written as by [TickOf], or as a day (2026-11-23), a month (2026-11) or a minute
// (2026-11-23T08:30).
func IsDone(last, tick string) bool {
	if last == tick {
		return true
	}
	before, ok := timeOf(last)
	now, also := timeOf(tick)
	if ok && also {
		return !now.After(before)
	}
	m, notNumber := strconv.ParseUint(last, 10, 64)
	n, norThis := strconv.ParseUint(tick, 10, 64)
	return notNumber == nil && norThis == nil && n <= m
}

func timeOf(tick string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02", "2006-01", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, tick); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// forTick makes the lease belong to a tick.
func forTick(tick string) Option { return func(s *settings) { s.tick = tick } }

// unlessDone acquires the name, and releases it at once if the tick is done.
func (a *acquisition) unlessDone() (*Lease, error) {
	le, err := a.acquire()
	if err != nil || !IsDone(le.grant.Done, a.cfg.tick) {
		return le, err
	}
	_ = le.abandon(a.ctx)
	return nil, fmt.Errorf("%w: %s: tick %s, last done %s", ErrDone, excerpt(a.key.String()), excerpt(a.cfg.tick), excerpt(le.grant.Done))
}

// Tick returns the tick for which [Once] or [Locker.AcquireOnce] acquired the lease, or "".
func (le *Lease) Tick() string { return le.cfg.tick }

// runOnce calls fn for Once. It releases the lease, and records the tick if fn returns nil.
func (le *Lease) runOnce(ctx context.Context, fn func(context.Context, *Lease) error) error {
	succeeded := false
	return le.ctx.run(ctx, func(inner context.Context) error {
		err := fn(inner, le)
		succeeded = err == nil
		return err
	}, func(err error) error {
		if succeeded {
			return le.ReleaseDone(ctx)
		}
		return addLoss(err, le.Release(ctx))
	})
}

// record makes the release record the tick, if the lease is still held.
func (le *Lease) record() {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.err == nil {
		le.recording = true
	}
}

// recorded reports whether the tick is recorded after a release that succeeded: by that release, or by a ReleaseWith
// that has ended the lease.
func (le *Lease) recorded() bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.recording || le.ending == nil {
		return le.recording
	}
	select {
	case <-le.ending.over:
		return le.ending.ended
	default:
		return false
	}
}
