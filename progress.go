package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// progress is what the first waiter has reached in the store with its requests. If that waiter gives up while it rests,
// the next waiter continues from there. So the store need not withdraw a recorded request, and then record the
// same request of the next waiter.
type progress struct {
	nonce    driver.Nonce // the nonce of the recorded request; the next waiter has not sent its own nonce yet
	recorded bool
	pending  clock.Instant
	answered clock.Instant
	held     *HeldError
	refusal  *driver.Held
	poll     poll
	due      time.Time // when the next request is due
}

// resign leaves the progress of a waiter that gives up to the next waiter, if possible. Otherwise giveUp withdraws the
// recorded request.
func (w *waiter) resign() {
	rested := !w.due.IsZero() && w.doubt.requests == 0 && w.err == nil
	if rested && w.place.leaveToNext(progress{w.nonce, w.recorded, w.pending, w.answered, w.held, w.refusal, w.poll, w.due}) {
		w.recorded, w.pending = false, clock.Instant{}
		return
	}
	if w.attempts == 0 && !w.recorded { // leaves first, so that nothing is left to this waiter later
		w.place.leave()
		if left := w.place.takeProgress(); left != nil {
			w.continues(left)
		}
	}
}

// continues takes over the progress of the previous first waiter. It returns when the next request is due.
func (w *waiter) continues(left *progress) (due time.Time) {
	w.nonce, w.doubt.nonce = left.nonce, left.nonce
	w.recorded, w.pending, w.answered = left.recorded, left.pending, left.answered
	w.held, w.refusal, w.poll = left.held, left.refusal, left.poll
	return left.due
}

// sameRequest reports whether two acquisitions ask the store for the same grant.
func sameRequest(a, b driver.Request) bool {
	a.Nonce, a.Waiting, a.Waits = b.Nonce, b.Waiting, b.Waits
	return a == b
}
