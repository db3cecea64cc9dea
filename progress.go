package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
)

// progress is what an acquisition has reached in the store with its requests. If the first waiter gives up after a
// refusal, the next waiter continues from there with the same nonce. So the store need not withdraw a recorded request,
// and then record the same request of the next waiter.
type progress struct {
	nonce     driver.Nonce
	recorded  bool          // true if the store has recorded a request: to grant it later, or to keep out readers
	trustFrom clock.Instant // from when the TTL of a grant counts: just before the first request was sent that the store may have recorded; zero if there is no such request
	answered  clock.Instant // when the store last replied without an error; before its first reply, when the first request was sent
	held      *HeldError    // the last refusal with details, for the error of the call; kept if later requests get no reply
	refusal   *driver.Held  // the reply to the last request if it was a refusal, else nil
	poll      poll
	due       time.Time // when the next request is due; zero while a request is in progress
}

// mayBeGranted is called for each request that the store may still grant, and keeps the time of the first in trustFrom.
// A request without a reply is such a request, because the store may have recorded it.
func (p *progress) mayBeGranted(sent clock.Instant) {
	if p.trustFrom == (clock.Instant{}) {
		p.trustFrom = sent
	}
}

// sameRequest reports whether two acquisitions ask the store for the same grant.
func sameRequest(a, b driver.Request) bool {
	a.Nonce, a.Waiting, a.Waits = b.Nonce, b.Waiting, b.Waits
	return a == b
}
