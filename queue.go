package rowlock

import (
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// queues keeps the waiters of this process in the order in which they came, by name. A name that
// nobody waits for is not in it.
type queues struct {
	mu     sync.Mutex
	byKey  map[driver.Key]*queue
	rounds uint64 // of all queues so far
}

type queue struct {
	places     []*place   // the first one asks the store
	refusal    *HeldError // what the store last said to the first one
	stopNotify func()     // ends what the store tells the queue; nil while it tells nothing
	heir       *heir      // the first one, while it rests
	passed     bool       // whoever was the first before has got the name, and has not let it go
	round      uint64     // that began when the first became it or was last woken; no other queue has the same
}

// join puts a waiter at the end of the queue for key.
func (q *queues) join(key driver.Key) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byKey == nil {
		q.byKey = make(map[driver.Key]*queue)
	}
	of := q.byKey[key]
	if of == nil {
		of = new(queue)
		q.byKey[key] = of
	}
	p := &place{queues: q, key: key, ahead: len(of.places), first: make(chan struct{}), woken: make(chan struct{}, 1)}
	of.places = append(of.places, p)
	if p.ahead == 0 {
		q.next(of)
		close(p.first)
	}
	return p
}

// wake tells the first waiter for key that it may be free now.
func (q *queues) wake(key driver.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil {
		q.wakeFirst(of)
	}
}

// wakeIn is wake, unless the round is over: the first has been woken since, or is another one.
func (q *queues) wakeIn(round uint64, key driver.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil && of.round == round {
		q.wakeFirst(of)
	}
}

func (q *queues) wakeFirst(of *queue) {
	q.next(of)
	of.passed = false
	of.places[0].poke()
}

// next begins a round of the queue. The caller holds mu.
func (q *queues) next(of *queue) {
	q.rounds++
	of.round = q.rounds
}

// round is which round the queue for key is in; none if nobody waits.
func (q *queues) round(key driver.Key) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil {
		return of.round
	}
	return 0
}

// told says whether the store tells the waiters for key when it may be free.
func (q *queues) told(key driver.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key]
	return of != nil && of.stopNotify != nil
}

// takeHeir takes the first who waits for key, if it rests. It is to be told what comes of that.
func (q *queues) takeHeir(key driver.Key) *heir {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key]
	if of == nil {
		return nil
	}
	taken := of.heir
	of.heir = nil
	return taken
}

// place is where one waiter stands.
type place struct {
	queues *queues
	key    driver.Key
	ahead  int           // waiters before it when it came
	first  chan struct{} // closed once it is the first
	woken  chan struct{} // holds one wake-up
	served bool          // it has got the name
}

// leave makes the next one the first, and forgets a name that nobody waits for.
func (p *place) leave() {
	if stop := p.remove(); stop != nil {
		stop()
	}
}

// remove returns what ends the notifications of a queue that is now empty.
func (p *place) remove() (stop func()) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	of := p.queues.byKey[p.key]
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
			of.passed = p.served
			p.queues.next(of)
			close(of.places[0].first)
		}
		return nil
	}
	return nil
}

// poke wakes the waiter without waiting for it.
func (p *place) poke() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// passed says whether whoever stood before has got the name, and has not let it go.
func (p *place) passed() bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	return p.queues.byKey[p.key].passed
}

// rests lets a release take h, which is the first waiter.
func (p *place) rests(h *heir) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	p.queues.byKey[p.key].heir = h
}

// rises says whether no release has taken h, and lets none do so any more.
func (p *place) rises(h *heir) bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	of := p.queues.byKey[p.key]
	if of.heir != h {
		return false
	}
	of.heir = nil
	return true
}

// notified says whether the store tells the queue when the name may be free.
func (p *place) notified() bool {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	return p.queues.byKey[p.key].stopNotify != nil
}

// notifiedUntil keeps what ends the notifications until nobody waits for the name.
func (p *place) notifiedUntil(stop func()) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	p.queues.byKey[p.key].stopNotify = stop
}

// refused remembers what the store said, for those who stand behind and never ask.
func (p *place) refused(held *HeldError) {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	remembered := *held
	p.queues.byKey[p.key].refusal = &remembered
}

// refusal is what the store last said to the first in the queue; nil if it has said nothing.
func (p *place) refusal() *HeldError {
	p.queues.mu.Lock()
	defer p.queues.mu.Unlock()
	if r := p.queues.byKey[p.key].refusal; r != nil {
		held := *r
		return &held
	}
	return nil
}
