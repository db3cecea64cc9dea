package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns for how long the machine has been suspended since it started. CLOCK_BOOTTIME counts that
// time, and CLOCK_MONOTONIC, which Go's timers and time.Time use, does not (clock_gettime(2)). A delay
// between the two readings makes the result too small, which Since tolerates.
func suspended() time.Duration {
	var boot, monotonic unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil {
		return 0 // the wall clock still shows the suspension
	}
	// While the machine runs, both clocks advance equally. A smaller difference is the time between the two
	// readings.
	const noise = 10 * time.Millisecond
	if d := time.Duration(boot.Nano() - monotonic.Nano()); d > noise {
		return d
	}
	return 0
}
