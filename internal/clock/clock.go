// Package clock measures time, including the time for which the machine was suspended.
package clock

import "time"

// Instant is one moment, read from every clock that may notice that time has passed.
type Instant struct {
	At        time.Time     // has a monotonic and a wall reading
	Suspended time.Duration // for how long the machine has been suspended since it started
}

// Since returns the time since start. Of several clocks it uses the one that shows the longest time. The
// monotonic clock stops in suspend, and the wall clock may be set back. So a lease may end too early, but
// never too late.
func (i Instant) Since(start Instant) time.Duration {
	monotonic := i.At.Sub(start.At)
	asleep := max(0, i.Suspended-start.Suspended)
	wall := i.At.Round(0).Sub(start.At.Round(0))
	return max(monotonic+asleep, wall)
}

// Jump returns the part of Since that timers did not measure.
func (i Instant) Jump(start Instant) time.Duration {
	return i.Since(start) - i.At.Sub(start.At)
}

// Clock returns the current Instant. Tests replace the system's clock with their own.
type Clock func() Instant

// System reads the clocks of the machine.
func System() Instant {
	return Instant{Suspended: suspended(), At: time.Now()}
}
