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

// leftover is a grant that the store may still hold although no lease of this process uses it. There are three causes:
// the acquisition gave up while a reply was missing, the release got no reply, or the lease was lost.
type leftover struct {
	cfg      *settings
	grant    driver.Grant
	since    clock.Instant // just before the last request was sent that may have granted or renewed the lease
	certain  bool          // true if no request that could still grant the lease is in progress
	recorded bool          // true if the store has recorded a request; if it has granted none, no event is emitted
	requests int           // number of requests that may grant the lease; unused if certain is set

	next   time.Time
	asking bool // true if a request is in progress
	pauses backoff.Backoff
	freed  int
	err    error
}

// doubt counts those requests of an acquisition that have an unknown outcome. The store may have applied these
// requests, or may apply them later.
type doubt struct {
	requests int
	last     clock.Instant // just before the last of these requests was sent
}

func (d *doubt) add(requests int, last clock.Instant) {
	d.requests += requests
	d.last = last
}

// leftover describes the grant that the store may have made for the requests of d, which had g's nonce. Its token is
// zero, because the caller never received the token, and a zero token matches every token. Its field Done is empty, so
// the release records no tick: another holder may have recorded a later tick before this grant.
func (d doubt) leftover(cfg *settings, g driver.Grant) leftover {
	g.Token, g.Done = 0, ""
	return leftover{cfg: cfg, grant: g, since: d.last, certain: false, requests: d.requests}
}

// mostResolving limits the concurrent releases of leftovers. Many waiters may give up at the same time,
// and a release that hangs must not block the other releases.
const mostResolving = 8

// janitor releases leftovers in the background. Its goroutines run only while there are leftovers.
type janitor struct {
	locker *Locker
	pokes  chan struct{} // wakes the goroutine; has capacity for one signal

	mu      sync.Mutex
	items   []*leftover
	asking  int // items with a request in progress
	running bool
	stopped bool
}

func (j *janitor) init(l *Locker) {
	j.locker, j.pokes = l, make(chan struct{}, 1)
}

// resolve releases the item in the background. After the locker was closed, resolve makes one attempt before it
// returns.
func (j *janitor) resolve(item leftover) { j.take(item)() }

// take does the same as resolve, but does not emit the trace event of its attempt. Instead it returns the function
// tell, which emits the event. The caller must call tell.
func (j *janitor) take(item leftover) (tell func()) {
	item.pauses = backoff.Backoff{Next: 50 * time.Millisecond, Most: time.Second}
	item.next = j.locker.clock().At
	if j.queue(&item) {
		return func() {}
	}
	j.attempt(context.Background(), &item)
	return func() { j.tell(&item) }
}

// withdrawLimit limits how long a waiter that gives up waits for the store to withdraw its request.
const withdrawLimit = time.Second

// withdraw makes one attempt to release the item. If this attempt does not settle the item, withdraw continues as take
// does.
func (j *janitor) withdraw(item leftover) (tell func()) {
	ctx, cancel := context.WithTimeout(j.locker.closeLimit, withdrawLimit)
	defer cancel()
	if j.attempt(ctx, &item) {
		return func() { j.tell(&item) }
	}
	return j.take(item)
}

// queue adds the item to the items of the goroutine, and starts the goroutine if necessary. It reports false if the
// locker was closed.
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

// work makes one attempt to release the item. If last is true, work drops the item even if the attempt fails.
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

// pick returns the leftover that is due, or how long to sleep until one is due. If no leftover remains,
// pick returns nil and zero, and the goroutine ends.
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

// attempt sends one release of the item, and reports whether the item is settled.
func (j *janitor) attempt(ctx context.Context, item *leftover) bool {
	timeout := callTimeout(item.grant.TTL)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := j.locker.backend.Release(ctx, item.grant)
	now := j.locker.clock()
	item.next = now.At.Add(item.pauses.Step())
	item.err = nil
	age := now.Since(item.since)
	// This process stops waiting for a request after the timeout. The request may still be in transit or at the
	// store, so attempt allows the same time again for it to be applied. A grant that is made even later ends with
	// its TTL, because nothing renews it.
	settled := item.certain || age > 2*timeout
	switch {
	case err == nil:
		item.freed++
		// Another request with the same nonce may still be in transit, and may be granted when it arrives.
		return settled || item.freed >= item.requests
	case errors.Is(err, driver.ErrNotHeld):
		return settled
	}
	item.err = err
	return driver.IsPermanent(err) || age > item.grant.TTL+2*timeout
}

// drop removes the item. The caller holds mu.
func (j *janitor) drop(item *leftover) {
	j.items = slices.DeleteFunc(j.items, func(other *leftover) bool { return other == item })
}

func (j *janitor) tell(item *leftover) {
	if item.recorded && item.freed == 0 && item.err == nil {
		return
	}
	j.locker.queues.wake(item.grant.Key)
	emit(item.cfg, func(t *Trace) func(ResolvedEvent) { return t.Resolved },
		ResolvedEvent{lockInfo(item.grant.Key, item.cfg.holder), item.freed > 0, item.err})
}
