package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// progress is what an acquisition has reached in the store with its requests. If the first waiter gives up while it
// rests, the next waiter continues from there with the same nonce. So the store need not withdraw a recorded request,
// and then record the same request of the next waiter.
type progress struct {
	nonce    driver.Nonce
	recorded bool          // true if the store has recorded a request: to grant it later, or to keep out readers
	pending  clock.Instant // just before the first request that may still be granted was sent; zero if there is no such request
	answered clock.Instant // when the store last replied without an error; before its first reply, when the first request was sent
	held     *HeldError    // the last refusal
	refusal  *driver.Held  // the reply to the last request if it was a refusal, else nil
	poll     poll
	due      time.Time // when the next request is due, while the waiter rests; else zero
}

// mayBeGranted is called for each request that the store may still grant, and records when the first of them was sent.
// A request without a reply is such a request, because the store may have recorded it.
func (p *progress) mayBeGranted(sent clock.Instant) {
	if p.pending == (clock.Instant{}) {
		p.pending = sent
	}
}

// resign leaves the progress of a waiter that gives up to the next waiter, if possible. Otherwise giveUp withdraws the
// recorded request.
func (w *waiter) resign() {
	rested := !w.due.IsZero() && w.doubt.requests == 0 && w.err == nil
	if rested && w.place.leaveToNext(w.progress) {
		w.recorded, w.pending = false, clock.Instant{}
		return
	}
	if w.attempts == 0 && !w.recorded { // leaves first, so that nothing is left to this waiter later
		w.place.leave()
		if left := w.place.takeProgress(); left != nil {
			w.progress = *left
		}
	}
}

// sameRequest reports whether two acquisitions ask the store for the same grant.
func sameRequest(a, b driver.Request) bool {
	a.Nonce, a.Waiting, a.Waits = b.Nonce, b.Waiting, b.Waits
	return a == b
}
