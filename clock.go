package rowlock

import (
	"time"
)

// instant is one moment on every clock that may notice that time has passed.
type instant struct {
	at        time.Time     // monotonic and wall
	suspended time.Duration // total time for which the monotonic clock stood still in suspend
}

// since is how long ago start was, by the clock that says longest: the monotonic one stops while
// the machine sleeps, the wall clock may be set back. Believing the longest can end a lease too
// early and never too late.
func (i instant) since(start instant) time.Duration {
	monotonic := i.at.Sub(start.at)
	asleep := max(0, i.suspended-start.suspended)
	wall := i.at.Round(0).Sub(start.at.Round(0))
	return max(monotonic+asleep, wall)
}

// jump is by how much since exceeds what timers have seen pass.
func (i instant) jump(start instant) time.Duration {
	return i.since(start) - i.at.Sub(start.at)
}

// clock tells the time; tests put their own in place of the system's.
type clock func() instant

func systemClock() instant {
	return instant{suspended: suspended(), at: time.Now()}
}
