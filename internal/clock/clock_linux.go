package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns for how long the machine has been suspended since it started. CLOCK_BOOTTIME counts that time.
// CLOCK_MONOTONIC does not count it (clock_gettime(2)). Go's timers and time.Time use CLOCK_MONOTONIC. The two clocks
// are read one after the other, so the result may be slightly too small. The method Since tolerates that.
func suspended() time.Duration {
	var boot, monotonic unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil {
		return 0 // after an error, only the wall clock shows that the machine was suspended
	}
	// While the machine runs, both clocks advance equally. A difference below this limit is only the time between
	// the two readings.
	const noise = 10 * time.Millisecond
	if d := time.Duration(boot.Nano() - monotonic.Nano()); d > noise {
		return d
	}
	return 0
}
