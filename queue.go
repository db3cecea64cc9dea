package rowlock

import (
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// queues has a queue of the waiters of this process for each name, in order of arrival. A name without
// waiters has no queue.
type queues struct {
	mu    sync.Mutex
	byKey map[driver.Key]*queue
}

type queue struct {
	places           []*place   // in order of arrival; the first waiter sends requests to the store
	refusal          *HeldError // the last refusal of the first waiter
	stopNotify       func()     // ends the notifications of the store; nil if the store sends none
	successor        *successor // the first waiter while it waits between two requests, else nil
	predecessorHolds bool       // true if the previous first waiter acquired the name exclusively and has not released it
}

// join appends a waiter to the queue for the key of its request r.
func (q *queues) join(r driver.Request) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byKey == nil {
		q.byKey = make(map[driver.Key]*queue)
	}
	of := q.byKey[r.Key]
	if of == nil {
		of = new(queue)
		q.byKey[r.Key] = of
	}
	p := &place{queues: q, key: r.Key, request: r, ahead: len(of.places), first: make(chan struct{}), woken: make(chan struct{}, 1)}
	of.places = append(of.places, p)
	if p.ahead == 0 {
		close(p.first)
	}
	return p
}

// has reports whether callers of this process wait for key.
func (q *queues) has(key driver.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byKey[key] != nil
}

// wake wakes the first waiter for key, because the name may be free.
func (q *queues) wake(key driver.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil {
		of.predecessorHolds = false
		of.places[0].poke()
	}
}

// takeSuccessor takes the first waiter for key if that waiter has no request in progress, so that the caller can hand
// the lease over to it. Otherwise takeSuccessor returns nil. The caller must send the waiter a result.
func (q *queues) takeSuccessor(key driver.Key) *successor {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key]
	if of == nil {
		return nil
	}
	taken := of.successor
	of.successor = nil
	return taken
}

// place is the entry of one waiter in a queue.
type place struct {
	queues   *queues
	key      driver.Key
	request  driver.Request // the first request of the waiter
	ahead    int            // waiters before this waiter when it joined
	first    chan struct{}  // closed when the waiter becomes the first
	woken    chan struct{}  // has capacity for one wake-up
	excludes bool           // true if the waiter has acquired the name exclusively
	progress *progress      // what the previous first waiter has left to this waiter; nil if there is nothing
}

// leave removes the waiter, so that the next waiter becomes the first.
func (p *place) leave() {
	if stop := p.remove(); stop != nil {
		stop()
	}
}

// remove removes the waiter. If the queue is then empty, it returns the function that ends the notifications.
func (p *place) remove() (stop func()) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	of := p.queues.byKey[p.key]
	if of == nil {
		return nil // leaveToNext has removed the waiter
	}
	for i, other := range of.places {
		if other != p {
			continue
		}
		of.places = append(of.places[:i], of.places[i+1:]...)
		if len(of.places) == 0 {
			delete(p.queues.byKey, p.key)
			return of.stopNotify
		}
		if i == 0 {
			of.predecessorHolds = p.excludes
			close(of.places[0].first)
		}
		return nil
	}
	return nil
}

// leaveToNext removes the first waiter and leaves its progress to the next waiter. If there is no next waiter, or it
// does not send the same request, leaveToNext changes nothing and reports false.
func (p *place) leaveToNext(left progress) bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	of := p.queues.byKey[p.key]
	if len(of.places) < 2 || !sameRequest(of.places[1].request, p.request) {
		return false
	}
	of.places = of.places[1:]
	next := of.places[0]
	next.progress = &left
	if len(p.woken) > 0 {
		next.poke()
	}
	close(next.first)
	return true
}

// takeProgress returns what the previous first waiter has left, or nil. Later calls return nil.
func (p *place) takeProgress() *progress {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	left := p.progress
	p.progress = nil
	return left
}

// poke wakes the waiter without blocking.
func (p *place) poke() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// predecessorHolds reports whether the previous first waiter has acquired the name exclusively and has not released it.
func (p *place) predecessorHolds() bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	return p.queues.byKey[p.key].predecessorHolds
}

// rests records that the first waiter, h, has no request in progress, so that a release of this process can take it.
func (p *place) rests(h *successor) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	p.queues.byKey[p.key].successor = h
}

// stopsResting removes h before its next request, so that no release takes it. It reports false if a release has
// already taken h.
func (p *place) stopsResting(h *successor) bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	of := p.queues.byKey[p.key]
	if of.successor != h {
		return false
	}
	of.successor = nil
	return true
}

// notified reports whether the store notifies the queue.
func (p *place) notified() bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	return p.queues.byKey[p.key].stopNotify != nil
}

// notifiedUntil stores the function stop, which ends the notifications. The last waiter that leaves the queue calls
// stop.
func (p *place) notifiedUntil(stop func()) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	p.queues.byKey[p.key].stopNotify = stop
}

// refused stores a refusal for the later waiters of the queue, which send no requests.
func (p *place) refused(held *HeldError) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	remembered := *held
	p.queues.byKey[p.key].refusal = &remembered
}

// refusal returns the last refusal of the first waiter, or nil if there is none.
func (p *place) refusal() *HeldError {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	if r := p.queues.byKey[p.key].refusal; r != nil {
		held := *r
		return &held
	}
	return nil
}
