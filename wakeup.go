package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// headStart is for how long the waiters of this process rely on the store to tell them of the end of a burst, as
// those of others do. A notification takes less on a machine that is not overloaded.
const headStart = 5 * time.Millisecond

// lastTurn is, before le ends a burst, which turn the queue for its name is in. Nobody else need know.
func (le *Lease) lastTurn() uint64 {
	if le.burst.handed == 0 {
		return 0
	}
	return le.locker.queues.turn(le.grant.Key)
}

// wakeNext wakes the first who waits for the name, now that it may be free. After a burst the store does where it can,
// and wakes others at the same time, who would come too late otherwise: then only a first who has not heard by then of
// what was let go in that turn.
func (le *Lease) wakeNext(turn uint64) {
	queues, key := &le.locker.queues, le.grant.Key
	if le.burst.handed > 0 && le.locker.Capabilities().Wakes && queues.told(key) {
		time.AfterFunc(headStart, func() { queues.wakeIn(turn, key) })
		return
	}
	queues.wake(key)
}

// told says whether the store tells the waiters for key when it may be free.
func (q *queues) told(key driver.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key]
	return of != nil && of.stopNotify != nil
}

// next begins a turn of the queue. The caller holds mu.
func (q *queues) next(of *queue) {
	q.turns++
	of.turn = q.turns
}

// turn is which turn the queue for key is in; none if nobody waits.
func (q *queues) turn(key driver.Key) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil {
		return of.turn
	}
	return 0
}

// poke wakes the waiter without waiting for it.
func (p *place) poke() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// wake tells the first waiter for key that it may be free now.
func (q *queues) wake(key driver.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil {
		q.wakeFirst(of)
	}
}

// wakeIn is wake, unless the turn is over: the first has been woken since, or is another one.
func (q *queues) wakeIn(turn uint64, key driver.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key]; of != nil && of.turn == turn {
		q.wakeFirst(of)
	}
}

func (q *queues) wakeFirst(of *queue) {
	q.next(of)
	of.passed = false
	of.places[0].poke()
}
