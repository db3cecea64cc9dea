// Package clock measures time that no clock of the machine has missed: also while it was suspended.
package clock

import "time"

// Instant is one moment on every clock that may notice that time has passed.
type Instant struct {
	At        time.Time     // monotonic and wall
	Suspended time.Duration // total time for which the monotonic clock stood still in suspend
}

// Since is how long ago start was, by the clock that says longest: the monotonic one stops while
// the machine sleeps, the wall clock may be set back. Believing the longest can end a lease too
// early and never too late.
func (i Instant) Since(start Instant) time.Duration {
	monotonic := i.At.Sub(start.At)
	asleep := max(0, i.Suspended-start.Suspended)
	wall := i.At.Round(0).Sub(start.At.Round(0))
	return max(monotonic+asleep, wall)
}

// Jump is by how much Since exceeds what timers have seen pass.
func (i Instant) Jump(start Instant) time.Duration {
	return i.Since(start) - i.At.Sub(start.At)
}

// Clock tells the time; tests put their own in place of the system's.
type Clock func() Instant

// System is the clock of the machine.
func System() Instant {
	return Instant{Suspended: suspended(), At: time.Now()}
}
