package driver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

// In a store that requires an expiry, a pause is a lease of about a century. KnowPause recognises the lease as a pause
// even after years.
func TestAPauseIsALeaseThatDoesNotEnd(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for left, paused := range map[time.Duration]bool{
		30 * 24 * time.Hour:      false,
		10 * year:                false,
		99 * year:                true,
		driver.Endless:           true,
		driver.Endless - 10*year: true,
	} {
		lease := driver.Held{Holder: "ops", Token: 7, ExpiresIn: left}
		want := lease
		if paused {
			want.Reason, want.ExpiresIn = driver.Paused, 0
		}
		assert.Equal(t, &want, lease.KnowPause(), "a refusal with %s left", left)

		status := driver.Status{State: driver.StateHeld, ExpiresIn: left, FreeIn: left}
		expected := status
		if paused {
			expected.State, expected.ExpiresIn, expected.FreeIn = driver.StatePaused, 0, 0
		}
		status.KnowPause()
		assert.Equal(t, expected, status, "a state with %s left", left)
	}
}

// KnowPause changes only a refusal with the reason Leased and a status with the state StateHeld.
func TestNothingButALeaseBecomesAPause(t *testing.T) {
	for _, reason := range []driver.Reason{driver.MinHold, driver.Handover, driver.Quarantine, driver.Contended, driver.Draining, driver.Reserved} {
		held := driver.Held{Reason: reason, ExpiresIn: driver.Endless}
		assert.Equal(t, &driver.Held{Reason: reason, ExpiresIn: driver.Endless}, held.KnowPause())
	}
	free := driver.Status{State: driver.StateFree, ExpiresIn: driver.Endless}
	free.KnowPause()
	assert.Equal(t, driver.Status{State: driver.StateFree, ExpiresIn: driver.Endless}, free)
}
