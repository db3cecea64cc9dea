package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended is how long the machine has slept since it was started: CLOCK_BOOTTIME counts that
// time, CLOCK_MONOTONIC, which Go's timers and time.Time run on, does not (clock_gettime(2)).
// A pause between the two readings makes the result too small, which Since tolerates.
func suspended() time.Duration {
	var boot, monotonic unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil {
		return 0 // the wall clock still notices
	}
	// Both clocks tick while awake, so anything below this is the time between the readings.
	const noise = 10 * time.Millisecond
	if d := time.Duration(boot.Nano() - monotonic.Nano()); d > noise {
		return d
	}
	return 0
}
