package rowlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/clock"
)

// leftover is a grant that the store may hold although this process does not. Its acquire gave up while a
// reply was missing, or its release got no reply.
type leftover struct {
	cfg      *settings
	grant    driver.Grant
	since    clock.Instant // just before the last request that may have granted or renewed the lease was sent
	certain  bool          // no request that could grant the lease is in progress
	pending  bool          // the store may grant a recorded request; if the store has not granted it, no event is emitted
	requests int           // number of requests that may grant the lease; unused if certain is set

	next   time.Time
	asking bool // a request is in progress
	pauses backoff.Backoff
	freed  int
	err    error
}

// mostResolving limits the concurrent releases of leftovers. Many waiters may give up at the same time, and
// a request that hangs must not block the others.
const mostResolving = 8

// janitor releases leftovers in the background. Its goroutines run only while there are leftovers.
type janitor struct {
	locker *Locker
	pokes  chan struct{} // has capacity for one

	mu      sync.Mutex
	items   []*leftover
	asking  int // items with a request in progress
	running bool
	stopped bool
}

func (j *janitor) init(l *Locker) {
	j.locker, j.pokes = l, make(chan struct{}, 1)
}

// resolve releases item in the background. After the locker was closed, it makes one attempt and returns.
func (j *janitor) resolve(item leftover) { j.take(item)() }

// take does the same as resolve, but the caller emits the trace event of the attempt, by calling tell.
func (j *janitor) take(item leftover) (tell func()) {
	item.pauses = backoff.Backoff{Next: 50 * time.Millisecond, Most: time.Second}
	item.next = j.locker.clock().At
	if j.queue(&item) {
		return func() {}
	}
	j.attempt(context.Background(), &item)
	return func() { j.tell(&item) }
}

// withdrawLimit is how long a waiter that gives up waits until the store has withdrawn its request.
const withdrawLimit = time.Second

// withdraw does the same as take, but waits for a first attempt.
func (j *janitor) withdraw(item leftover) (tell func()) {
	ctx, cancel := context.WithTimeout(j.locker.closeLimit, withdrawLimit)
	defer cancel()
	if j.attempt(ctx, &item) {
		return func() { j.tell(&item) }
	}
	return j.take(item)
}

// queue gives item to the goroutine, unless the locker was closed.
func (j *janitor) queue(item *leftover) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stopped {
		return false
	}
	j.items = append(j.items, item)
	if !j.running {
		j.running = true
		j.locker.running.Go(j.run)
		return true
	}
	j.poke()
	return true
}

func (j *janitor) poke() {
	select {
	case j.pokes <- struct{}{}:
	default:
	}
}

// stop makes the janitor attempt each remaining item once more.
func (j *janitor) stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopped = true
	j.poke()
}

func (j *janitor) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		item, pause, stopped := j.pick()
		switch {
		case item == nil && pause == 0:
			return
		case item == nil:
			timer.Reset(pause)
			select {
			case <-timer.C:
			case <-j.pokes:
			}
		default:
			j.locker.running.Go(func() { j.work(item, stopped) })
		}
	}
}

// work makes one attempt to release item, which may be the last.
func (j *janitor) work(item *leftover, last bool) {
	over := j.attempt(j.locker.closeLimit, item) || last
	j.mu.Lock()
	item.asking = false
	j.asking--
	if over {
		j.drop(item)
	}
	j.poke()
	j.mu.Unlock()
	if over {
		j.locker.running.Tell(func() { j.tell(item) })
	}
}

// longestRest is how long the janitor sleeps unless it is poked.
const longestRest = time.Hour

// pick returns the leftover that is due, or how long to sleep. If it returns neither, nothing is left, and
// the goroutine ends.
func (j *janitor) pick() (item *leftover, pause time.Duration, stopped bool) {
	now := j.locker.clock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.items) == 0 {
		j.running = false
		return nil, 0, false
	}
	for _, other := range j.items {
		if !other.asking && (item == nil || other.next.Before(item.next)) {
			item = other
		}
	}
	if item == nil || j.asking == mostResolving {
		return nil, longestRest, false
	}
	if pause := item.next.Sub(now.At); pause > 0 && !j.stopped {
		return nil, pause, false
	}
	item.asking = true
	j.asking++
	return item, 0, j.stopped
}

// attempt sends one release of item, and reports whether item is settled.
func (j *janitor) attempt(ctx context.Context, item *leftover) bool {
	timeout := callTimeout(item.grant.TTL)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := j.locker.backend.Release(ctx, item.grant)
	now := j.locker.clock()
	item.next = now.At.Add(item.pauses.Step())
	item.err = nil
	age := now.Since(item.since)
	// A request ends for its caller after the timeout. It may still be at the store, or on its way, so it
	// gets the same time again to be applied. If it takes even longer, its grant ends with the TTL, because
	// nothing renews it.
	settled := item.certain || age > 2*timeout
	switch {
	case err == nil:
		item.freed++
		// Another request with the same nonce may still be on its way, and may be granted when it arrives.
		return settled || item.freed >= item.requests
	case errors.Is(err, driver.ErrNotHeld):
		return settled
	}
	item.err = err
	return driver.IsPermanent(err) || age > item.grant.TTL+2*timeout
}

// drop removes item. The caller holds mu.
func (j *janitor) drop(item *leftover) {
	j.items = slices.DeleteFunc(j.items, func(other *leftover) bool { return other == item })
}

func (j *janitor) tell(item *leftover) {
	if item.pending && item.freed == 0 && item.err == nil {
		return
	}
	j.locker.queues.wake(item.grant.Key)
	emit(item.cfg, func(t *Trace) func(ResolvedEvent) { return t.Resolved },
		ResolvedEvent{lockInfo(item.grant.Key, item.cfg.holder), item.freed > 0, item.err})
}
