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

// leftover is a grant that the store may hold although nobody here does: its acquire was given up
// while a reply was missing, or its release was not answered.
type leftover struct {
	cfg      *settings
	grant    driver.Grant
	since    clock.Instant // before the last request that may have granted or prolonged it was sent
	certain  bool          // no request for it is under way
	pending  bool          // the store may grant it by itself; if it did not, there is nothing to tell
	requests int           // requests that may grant it, if it is not certain

	next   time.Time
	asking bool // a request is under way
	pauses backoff.Backoff
	freed  int
	err    error
}

// mostTakingBack is how many leftovers of a locker are asked about at the same time: many waiters may give up
// together, and a request that hangs must not keep the others waiting.
const mostTakingBack = 8

// janitor takes leftovers back, with goroutines that are there only while there are any.
type janitor struct {
	locker *Locker
	pokes  chan struct{} // holds one

	mu      sync.Mutex
	items   []*leftover
	asking  int // of the items
	running bool
	stopped bool
}

func (j *janitor) init(l *Locker) {
	j.locker, j.pokes = l, make(chan struct{}, 1)
}

// takeBack has the store let go of item, in the background. After the locker was closed it makes
// one attempt at once.
func (j *janitor) takeBack(item leftover) { j.take(item)() }

// take is takeBack, but for telling of that attempt, which the caller does by calling what it returns.
func (j *janitor) take(item leftover) (tell func()) {
	item.pauses = backoff.Backoff{Next: 50 * time.Millisecond, Most: time.Second}
	item.next = j.locker.clock().At
	if j.queue(&item) {
		return func() {}
	}
	j.attempt(context.Background(), &item)
	return func() { j.tell(&item) }
}

// withdrawLimit is how long a waiter that gives up waits for the store to forget its request.
const withdrawLimit = time.Second

// withdraw is take, whose first attempt is made at once and waited for.
func (j *janitor) withdraw(item leftover) (tell func()) {
	ctx, cancel := context.WithTimeout(j.locker.patience, withdrawLimit)
	defer cancel()
	if j.attempt(ctx, &item) {
		return func() { j.tell(&item) }
	}
	return j.take(item)
}

// queue leaves item to the goroutine, unless the locker was closed.
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

// stop lets the janitor make one more attempt at what is left.
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

// work makes one attempt at item, which may be the last.
func (j *janitor) work(item *leftover, last bool) {
	over := j.attempt(j.locker.patience, item) || last
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

// longestRest is how long the janitor rests when there is nothing to do until it is poked.
const longestRest = time.Hour

// pick chooses the leftover whose turn it is, or says how long there is none. Neither means that
// there are no more, and the goroutine ends.
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
	if item == nil || j.asking == mostTakingBack {
		return nil, longestRest, false
	}
	if pause := item.next.Sub(now.At); pause > 0 && !j.stopped {
		return nil, pause, false
	}
	item.asking = true
	j.asking++
	return item, 0, j.stopped
}

// attempt asks the store once to let go of item, and says whether that is settled.
func (j *janitor) attempt(ctx context.Context, item *leftover) bool {
	timeout := callTimeout(item.grant.TTL)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := j.locker.backend.Release(ctx, item.grant)
	now := j.locker.clock()
	item.next = now.At.Add(item.pauses.Step())
	item.err = nil
	age := now.Since(item.since)
	// A request was cut off after its timeout; give one that was already at the store, or on the
	// way, as long again to be carried out. If it takes even longer, what it is granted ends with
	// its TTL, for nobody renews it.
	settled := item.certain || age > 2*timeout
	switch {
	case err == nil:
		item.freed++
		// Another request with the same nonce may be on its way, and be granted when it arrives.
		return settled || item.freed >= item.requests
	case errors.Is(err, driver.ErrNotHeld):
		return settled
	}
	item.err = err
	return driver.IsPermanent(err) || age > item.grant.TTL+2*timeout
}

// drop is called with mu held.
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
