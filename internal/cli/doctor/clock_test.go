package doctor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// measureClock assumes that the clock was read in the middle of the round trip, with an error of at most half of the
// round trip. Of several answers it uses the one with the shortest round trip.
func TestMeasureClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trips := []time.Duration{800 * time.Millisecond, 40 * time.Millisecond, 500 * time.Millisecond}
		for _, skew := range []time.Duration{0, time.Hour, -2 * time.Second} {
			asked := 0
			ahead, giveOrTake, err := measureClock(t.Context(), func(context.Context) (time.Time, error) {
				trip := trips[asked]
				asked++
				time.Sleep(trip / 2)
				there := time.Now().Add(skew)
				time.Sleep(trip / 2)
				return there, nil
			})
			assert.NoError(t, err)
			assert.Equal(t, skew, ahead)
			assert.Equal(t, 20*time.Millisecond, giveOrTake)
		}
	})
	_, _, err := measureClock(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, errors.New("gone") })
	assert.Error(t, err)
}

// doctor warns of a difference of clocks only if the difference exceeds the possible error of its measurement by more
// than a second. The server's clock may be ahead or behind.
func TestClockFindings(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		ahead, giveOrTake time.Duration
		severity          string
	}{
		{900 * time.Millisecond, 0, fine}, {-900 * time.Millisecond, 0, fine}, {3 * time.Second, 2500 * time.Millisecond, fine},
		{1100 * time.Millisecond, 0, warning}, {-1100 * time.Millisecond, time.Millisecond, warning},
	} {
		r := &Report{}
		r.clock("x", of.ahead, of.giveOrTake)
		assert.True(t, r.has(of.severity, "clock"), "%+v", of)
	}
}

// Versions are compared number by number. doctor reports nothing about a version that it cannot parse.
func TestVersionsThatAreTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{"3.6.5": false, "3.6.4": true, "3.5.30": true, "3.7.0": false, "4.0.0": false, "3.10.1": false, "": false, "main": false} {
		assert.Equal(t, old, olderThan(version, minEtcd), version)
	}
	for version, old := range map[string]bool{
		"9.7.4-2": false, "8.0.11": false, "5.7.44": true, "10.11.19-MariaDB-0+deb12u1": false, "10.5.9-MariaDB": true, "8.0.11-TiDB-v7.5.0": true, "?": false,
	} {
		assert.Equal(t, old, mysqlTooOld(version) != "", version)
	}
}
