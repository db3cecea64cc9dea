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

// Locker acquires named locks in one store. It is safe for concurrent use. A program needs one Locker for each
// store. A Locker keeps no data for a name that nobody holds or waits for.
type Locker struct {
	backend  driver.Backend
	notifier driver.Notifier // this field and the next three are nil if the backend does not implement their interface
	awaiter  driver.Awaiter
	batcher  driver.Batcher
	handing  driver.HandOverer // also nil if the store has a queue of waiters
	caps     driver.Capabilities
	cfg      *settings
	clock    clock.Clock

	queues   queues
	renewals renewals
	janitor  janitor

	closing        context.Context // ends when Close begins
	close          context.CancelFunc
	requests       context.Context // ends when Close has released every lease, so that renewals no longer matter
	cancelRequests context.CancelFunc
	closeLimit     context.Context // ends closeTimeout after Close has begun
	endCloseLimit  context.CancelFunc
	begun          atomic.Bool   // Close has begun
	over           chan struct{} // closed when Close has ended
	closed         error         // the result of Close
	running        crew.Crew
	waiting        crew.Crew // counts the calls that wait; each is counted until it has withdrawn its request
}

// New returns a Locker that keeps its locks in backend. The options are the defaults of its calls. New does no I/O,
// so the first call reports a missing or unsuitable store. New returns an error if an option is invalid,
// or if the backend does not meet a [Require].
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
	l.batcher, _ = backend.(driver.Batcher)
	if l.awaiter == nil {
		l.handing, _ = backend.(driver.HandOverer)
	}
	cfg, err := settings{ttl: defaultTTL, holder: defaultHolder()}.merge(opts, l.caps)
	if err != nil {
		return nil, err
	}
	l.cfg = &cfg
	l.closing, l.close = context.WithCancel(context.Background())
	l.requests, l.cancelRequests = context.WithCancel(context.Background())
	l.closeLimit, l.endCloseLimit = context.WithCancel(context.Background())
	l.over = make(chan struct{})
	l.renewals.init(l)
	l.janitor.init(l)
	return l, nil
}

// Capabilities returns what the backend guarantees, and which weaknesses the backend has detected in its store so
// far.
func (l *Locker) Capabilities() driver.Capabilities { return l.backend.Capabilities() }

// Acquire blocks until it holds name, or until the wait ends. ctx and the option [Wait] limit only the wait.
// The Locker renews the lease until you release it, even after ctx has ended.
//
// If the time of Wait is over during a request, Acquire still waits for the reply, for a few seconds at most. If ctx ends
// during a request, Acquire waits for the reply for a second at most. If ctx ends while another holder of this Locker
// hands the name over, the hand-over completes, because it releases the previous lease.
//
// Callers of one Locker that wait for the same name are served first come, first served. Only the first
// waiter sends requests.
//
// Acquire fails at once with [ErrNested] if ctx carries a held lease of the same name from the same backend.
// The call would wait for itself. It fails so after its first request if the lease in ctx comes from another backend of
// the same store, for example from [FromEnvironment], and if the store grants tokens.
//
// The error is one of these:
//
//   - [ErrHeld], if the wait ended while another holder had the name. It is a [*HeldError] with the details.
//     If ctx ended the wait, the error also matches ctx's error.
//   - [ErrUnavailable], if the store did not reply for one TTL, a minute at most, or rejected the request with an error
//     that a retry cannot fix. The error is the same if the store granted the name in that time, but each grant arrived
//     after the deadline that its TTL, less the margin, or its [MaxHold] sets.
//   - [ErrClosed], if the Locker is closed.
//   - The error for an invalid option or name.
//
// A failed Acquire leaves neither a grant nor a recorded request behind. If the store has recorded the request,
// Acquire withdraws it before it returns, which takes a second or two at most. If a reply is missing,
// a background task releases the grant that the store may have made.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...Option) (*Lease, error) {
	a, err := l.newAcquisition(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return a.run(a.acquire)
}

// TryAcquire makes one attempt to acquire name, and does not wait for other holders or waiters. It returns a lease,
// an [ErrHeld], or another error of [Locker.Acquire]. The store has a few seconds to reply, and TryAcquire repeats
// the request only if a reply is missing. ctx limits the whole call.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...Option) (*Lease, error) {
	a, err := l.newAcquisition(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return a.run(a.try)
}

// Do acquires name as [Locker.Acquire] does, runs fn, and releases the lease. The context of fn ends when ctx ends, or
// when the lease is no longer trusted. [FromContext] returns the lease of that ctx.
//
// Do returns the error of fn. If the lease was lost while fn ran, the error is also an [ErrLost], even if fn
// returned nil. A release without a reply is no error of Do: the work was done under the lock, and the lock
// expires. If fn panics, Do releases the lease.
func (l *Locker) Do(ctx context.Context, name string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	return l.do(ctx, name, fn, l.Acquire, opts)
}

// TryDo does the same as [Locker.Do], but with [Locker.TryAcquire]: it fails with [ErrHeld] at once if the
// name is held.
func (l *Locker) TryDo(ctx context.Context, name string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	return l.do(ctx, name, fn, l.TryAcquire, opts)
}

// do runs fn under a lease that acquire returns, or under the lease that ctx carries if the option Reenter permits that.
func (l *Locker) do(ctx context.Context, name string, fn func(context.Context, *Lease) error,
	acquire func(context.Context, string, ...Option) (*Lease, error), opts []Option,
) error {
	lease, err := l.carried(ctx, name, opts)
	if err != nil {
		return err
	}
	if lease != nil {
		return lease.reenter(ctx, fn)
	}
	if lease, err = acquire(ctx, name, opts...); err != nil {
		return err
	}
	return lease.run(ctx, fn)
}

// carried returns the held lease on name that ctx carries, if opts contain Reenter. Otherwise it returns nil. It also
// returns nil if that lease is shared and opts do not contain Shared.
func (l *Locker) carried(ctx context.Context, name string, opts []Option) (*Lease, error) {
	cfg, err := l.configure(opts)
	if err != nil || !cfg.reenter || l.closing.Err() != nil {
		return nil, err
	}
	lease, _ := ctx.Value(nesting{l, driver.Key{Namespace: cfg.namespace, Name: name}, 0}).(*Lease)
	if lease != nil && lease.Shared() && !cfg.shared {
		return nil, nil // a writer must not run beside other readers; the acquire returns an ErrNested
	}
	return lease, nil
}

// closeTimeout is how long Close waits for a store that hangs, however many leases there are.
const closeTimeout = 5 * time.Second

// Close releases every lease of the Locker, and ends every wait with [ErrClosed]. It returns when the waiters
// have withdrawn their requests and all goroutines of the Locker have ended. It waits for the store for a few
// seconds at most. The error names the leases that could not be released. They end with their TTL. Close also closes
// the connections that the backend has opened itself, if they are not in use. It does not close the database handle of
// the backend, because the caller opened it. A second Close returns the same error.
//
// A function of a [Trace] may call Close. A goroutine that runs such a function ends when the function
// returns. Close waits for that goroutine for 100 ms at most.
func (l *Locker) Close() error {
	if !l.begun.CompareAndSwap(false, true) {
		<-l.over
		return l.closed
	}
	defer close(l.over)
	l.close()
	limit := time.AfterFunc(closeTimeout, l.endCloseLimit)
	defer limit.Stop()
	var mu sync.Mutex
	var errs []error
	var releases sync.WaitGroup
	slots := make(chan struct{}, 16) // limits the concurrent releases; 16 are enough to hide the round trips
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
	l.waiting.Wait(l.closeLimit.Done())
	l.cancelRequests()
	l.janitor.stop()
	l.running.Wait(nil)
	if idler, ok := l.backend.(driver.Idler); ok {
		ctx, cancel := context.WithTimeout(l.closeLimit, closeTimeout)
		idler.CloseIdle(ctx)
		cancel()
	}
	l.closed = oneline.Join(errs...)
	return l.closed
}

// configure returns the settings of one call: the options of the Locker, overridden by opts.
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
	return &merged, nil
}

// hasStoreOf reports whether both Lockers have the same backend.
func (l *Locker) hasStoreOf(other *Locker) bool {
	return l == other ||
		reflect.ValueOf(l.backend).Comparable() && reflect.ValueOf(other.backend).Comparable() && l.backend == other.backend
}
