// Package clock measures time, including the time for which the machine was suspended.
package clock

import "time"

// Instant is one point in time, as several clocks of the machine show it.
type Instant struct {
	At        time.Time     // has a monotonic and a wall clock reading
	Suspended time.Duration // how long the machine has been suspended since it started
}

// Since returns the time since the instant start. It returns the longest time that any of the clocks shows, because a
// clock may miss time: the monotonic clock stops while the machine is suspended, and the wall clock may be set back. So
// a lease may end too early, but never too late.
func (i Instant) Since(start Instant) time.Duration {
	monotonic := i.At.Sub(start.At)
	asleep := max(0, i.Suspended-start.Suspended)
	wall := i.At.Round(0).Sub(start.At.Round(0))
	return max(monotonic+asleep, wall)
}

// Jump returns the part of the time since start that Go's timers did not count, for example while the machine was
// suspended.
func (i Instant) Jump(start Instant) time.Duration {
	return i.Since(start) - i.At.Sub(start.At)
}

// Clock returns the current Instant. Tests replace the system's clock with their own.
type Clock func() Instant

// System returns the current Instant from the clocks of the machine.
func System() Instant {
	return Instant{Suspended: suspended(), At: time.Now()}
}
