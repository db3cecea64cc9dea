package rowlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Locker acquires named locks in one store. It is safe for concurrent use; a program needs one for
// each store. What it keeps per name is gone once the name is idle.
type Locker struct {
	backend  driver.Backend
	notifier driver.Notifier // nil if the backend is none; so the three below
	enterer  driver.Enterer
	queuer   driver.Queuer // nil as well if the backend is an Enterer
	sessions driver.Session
	handing  driver.HandOverer // nil also where grants live with sessions or the store keeps the queue
	sealsAt  driver.Place      // the zero Place if the backend seals no grants
	caps     driver.Capabilities
	cfg      *settings
	clock    clock

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
	running  crew
	waiters  crew // the callers that wait, until they have withdrawn what the store may grant later
}

// New returns a Locker on backend. The options are the defaults of its calls. New does no I/O: a
// store that is missing or unfit shows at the first call. It fails on an option that cannot work
// and on a backend that does not meet what [Require] demands.
func New(backend driver.Backend, opts ...Option) (*Locker, error) {
	return newLocker(backend, systemClock, opts)
}

func newLocker(backend driver.Backend, clock clock, opts []Option) (*Locker, error) {
	if backend == nil {
		return nil, errors.New("rowlock: backend is nil")
	}
	if v, ok := backend.(driver.Validator); ok {
		if err := v.Validate(); err != nil {
			return nil, fmt.Errorf("rowlock: %w", err)
		}
	}
	l := &Locker{backend: backend, clock: clock}
	l.notifier, _ = backend.(driver.Notifier)
	if l.enterer, _ = backend.(driver.Enterer); l.enterer == nil {
		l.queuer, _ = backend.(driver.Queuer)
	}
	l.sessions, _ = backend.(driver.Session)
	if l.queuer == nil && l.enterer == nil && l.sessions == nil {
		l.handing, _ = backend.(driver.HandOverer)
	}
	if s, ok := backend.(driver.GrantSealer); ok {
		l.sealsAt = s.SealsAt()
	}
	if d, ok := backend.(driver.Describer); ok {
		l.caps = d.Capabilities()
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
func (l *Locker) Capabilities() driver.Capabilities {
	if d, ok := l.backend.(driver.Describer); ok {
		return d.Capabilities()
	}
	return l.caps
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
	turns := make(chan struct{}, 16) // leases released at the same moment: enough to hide the round trips
	for _, le := range l.renewals.stop() {
		turns <- struct{}{}
		releases.Add(1)
		l.running.Go(func() {
			tell, err := le.releaseOnce(context.Background())
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
			<-turns
			releases.Done()
			l.running.tell(tell)
		})
	}
	releases.Wait()
	l.waiters.wait(l.patience.Done())
	l.abandon()
	l.janitor.stop()
	l.running.wait(nil)
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
