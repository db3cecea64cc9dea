package rowlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Bounds of the pause between two questions of a waiter that no store wakes.
const (
	shortestPoll = 4 * time.Millisecond
	longestPoll  = time.Second
)

// poll is how a waiter spaces its questions. What was held for long will, as far as one can tell, be held for
// long yet: a waiter that nobody wakes asks again after a quarter of that time, so that it is late by about an
// eighth of a hold, and asks about a long one once a second. Of several the store may know the order: who
// stands further back asks as much less often. While it stands where it stood, one process has the name, which may
// hand it from holder to holder, so that each hold is shorter than what is waited for.
type poll struct {
	backoff backoff
	ahead   int       // waiters before it, by the last answer
	from    time.Time // the first answer that said so
}

func newPoll() poll { return poll{backoff: backoff{next: 20 * time.Millisecond, most: longestPoll}} }

// pause is how long to wait after the store refused, or after it did not answer (held is nil). Where the store
// wakes the waiter, asking is only the net beneath.
func (p *poll) pause(held *driver.Held, woken bool) time.Duration {
	if held == nil {
		return p.backoff.step()
	}
	if p.from.IsZero() || held.Ahead != p.ahead {
		p.ahead, p.from = held.Ahead, time.Now()
	}
	var pause time.Duration
	if woken || held.Since <= 0 || held.Reason == driver.Contended { // that is not for how long it is contended
		pause = p.backoff.step()
	} else {
		place := time.Duration(held.Ahead) + 1
		since := max(held.Since, min(time.Since(p.from), longestBurst))
		pause = jitter(min(min(max(since/4, shortestPoll), longestPoll)*place, longestPoll))
	}
	if held.ExpiresIn > 0 && (held.Reason != driver.Reserved || held.Ahead == 0) {
		pause = min(pause, held.ExpiresIn+jitter(5*time.Millisecond))
	}
	return pause
}
