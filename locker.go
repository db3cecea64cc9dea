package rowlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/crew"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Locker acquires named locks in one store. It is safe for concurrent use; a program needs one for
// each store. What it keeps per name is gone once the name is idle.
type Locker struct {
	backend  driver.Backend
	notifier driver.Notifier // nil if the backend is none; so the three below
	awaiter  driver.Awaiter
	sessions driver.Session
	handing  driver.HandOverer // nil also where grants live with sessions or the store keeps the queue
	caps     driver.Capabilities
	cfg      *settings
	clock    clock.Clock

	queues   queues
	renewals renewals
	janitor  janitor

	closing  context.Context // ends when Close begins
	close    context.CancelFunc
	requests context.Context // ends when Close has released everything: a renewal matters no more
	abandon  context.CancelFunc
	patience context.Context // ends when Close has waited on the store for long enough
	hurry    context.CancelFunc
	begun    atomic.Bool   // Close has begun
	over     chan struct{} // closed when it has ended
	closed   error         // what it returns
	running  crew.Crew
	waiters  crew.Crew // the callers that wait, until they have withdrawn what the store may grant later
}

// New returns a Locker on backend. The options are the defaults of its calls. New does no I/O: a
// store that is missing or unfit shows at the first call. It fails on an option that cannot work
// and on a backend that does not meet what [Require] demands.
func New(backend driver.Backend, opts ...Option) (*Locker, error) {
	return newLocker(backend, clock.System, opts)
}

func newLocker(backend driver.Backend, now clock.Clock, opts []Option) (*Locker, error) {
	if backend == nil {
		return nil, errors.New("rowlock: backend is nil")
	}
	l := &Locker{backend: backend, clock: now, caps: backend.Capabilities()}
	if err := l.caps.Invalid; err != nil {
		return nil, fmt.Errorf("rowlock: %w", err)
	}
	l.notifier, _ = backend.(driver.Notifier)
	l.awaiter, _ = backend.(driver.Awaiter)
	l.sessions, _ = backend.(driver.Session)
	if l.awaiter == nil && l.sessions == nil {
		l.handing, _ = backend.(driver.HandOverer)
	}
	cfg, err := settings{ttl: defaultTTL, holder: defaultHolder()}.merge(opts, l.caps)
	if err != nil {
		return nil, err
	}
	for _, unmet := range cfg.require {
		if err := unmet(l.caps); err != nil {
			return nil, fmt.Errorf("rowlock: backend %s: %w", l.caps.Backend, err)
		}
	}
	l.cfg = &cfg
	l.closing, l.close = context.WithCancel(context.Background())
	l.requests, l.abandon = context.WithCancel(context.Background())
	l.patience, l.hurry = context.WithCancel(context.Background())
	l.over = make(chan struct{})
	l.renewals.init(l)
	l.janitor.init(l)
	return l, nil
}

// Capabilities is what the backend promises, and what it has found by now that weakens that.
func (l *Locker) Capabilities() driver.Capabilities { return l.backend.Capabilities() }

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

// closeTimeout is how long Close waits on a store that hangs, however many leases there are.
const closeTimeout = 5 * time.Second

// Close releases every lease of the locker, ends every wait with [ErrClosed], and returns when the waiters have withdrawn
// their requests and no goroutine of the locker is left. It waits on the store for a few seconds at most; the error names
// the leases that could not be released, which end with their TTL. It closes nothing that it did
// not open: the backend's database handle stays the caller's. Closing again returns the same.
//
// A function of a [Trace] may call Close. A goroutine that is inside such a function ends when the function returns, and
// Close waits 100 ms for it at most.
func (l *Locker) Close() error {
	if !l.begun.CompareAndSwap(false, true) {
		<-l.over
		return l.closed
	}
	defer close(l.over)
	l.close()
	limit := time.AfterFunc(closeTimeout, l.hurry)
	defer limit.Stop()
	var mu sync.Mutex
	var errs []error
	var releases sync.WaitGroup
	slots := make(chan struct{}, 16) // leases released at the same moment: enough to hide the round trips
	for _, le := range l.renewals.stop() {
		slots <- struct{}{}
		releases.Add(1)
		l.running.Go(func() {
			tell, err := le.releaseOnce(context.Background())
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
			<-slots
			releases.Done()
			l.running.Tell(tell)
		})
	}
	releases.Wait()
	l.waiters.Wait(l.patience.Done())
	l.abandon()
	l.janitor.stop()
	l.running.Wait(nil)
	if idler, ok := l.backend.(driver.Idler); ok {
		ctx, cancel := context.WithTimeout(l.patience, closeTimeout)
		idler.CloseIdle(ctx)
		cancel()
	}
	l.closed = oneline.Join(errs...)
	return l.closed
}

// configure merges the options of one call over the locker's.
func (l *Locker) configure(opts []Option) (*settings, error) {
	if len(opts) == 0 {
		return l.cfg, nil
	}
	cfg := *l.cfg
	cfg.require = nil
	merged, err := cfg.merge(opts, l.caps)
	if err != nil {
		return nil, err
	}
	for _, unmet := range merged.require {
		if err := unmet(l.caps); err != nil {
			return nil, fmt.Errorf("rowlock: backend %s: %w", l.caps.Backend, err)
		}
	}
	return &merged, nil
}

// hasStoreOf says whether both lockers have one backend.
func (l *Locker) hasStoreOf(other *Locker) bool {
	return l == other ||
		reflect.ValueOf(l.backend).Comparable() && reflect.ValueOf(other.backend).Comparable() && l.backend == other.backend
}
