package cli

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Durations have a unit, and inf is one only where waiting for ever makes sense.
func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "inf": forever} {
		var d time.Duration
		require.NoError(t, durationValue{&d, true}.Set(text), text)
		assert.Equal(t, want, d)
	}
	for _, text := range []string{"", "5", "-1s", "infinite", "d", "1.5d", "-1d", "+1d", "1d-2h", "1d2", "1d1d", "106752d", "106751d24h"} {
		var d time.Duration
		assert.Error(t, durationValue{&d, true}.Set(text), text)
	}
	var d time.Duration
	assert.Error(t, durationValue{&d, false}.Set("inf"))
}

// NAME stands before --, the command behind it.
func TestRunArguments(t *testing.T) {
	t.Parallel()
	assert.NoError(t, checkRunArgs(1, []string{"job", "cmd"}))
	assert.NoError(t, checkRunArgs(1, []string{"job", "cmd", "arg", "--"}))
	for _, bad := range []struct {
		dash int
		args []string
	}{{-1, nil}, {-1, []string{"job"}}, {-1, []string{"job", "cmd"}}, {0, []string{"cmd"}}, {1, []string{"job"}}, {2, []string{"a", "b", "cmd"}}} {
		err := checkRunArgs(bad.dash, bad.args)
		assert.Equal(t, exitUsage, exitCode(err), "%d %q", bad.dash, bad.args)
	}
}

// What is shown is one word or quoted, so that it can be read off and typed.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"job": "job", "tägliches/job": "tägliches/job", "": `""`, "a b": `"a b"`, "a\x1b[2J": `"a\x1b[2J"`, "x\n": `"x\n"`} {
		assert.Equal(t, want, quoted(s))
	}
}

// A time in JSON is written with the digits that it has.
func TestSecondsOfJSON(t *testing.T) {
	t.Parallel()
	for micros := range int64(5_000_000) {
		if micros%1009 == 0 {
			text, err := json.Marshal(inSeconds(time.Duration(micros) * time.Microsecond))
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), len("1.234567"), string(text))
		}
	}
	assert.InDelta(t, 2.28, inSeconds(2280*time.Millisecond), 0)
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 40 * time.Millisecond: "0s", 9940 * time.Millisecond: "9.9s", 95 * time.Second: "1m35s",
		90*time.Minute + 3*time.Second: "1h30m", 50 * time.Hour: "2d2h",
	} {
		assert.Equal(t, want, span(d))
	}
}

// Of an environment with duplicates the last one counts, as for the programs that get it.
func TestEnvironmentTakesTheLast(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "2", environment{"A=1", "A=2", "AB=3"}.get("A"))
	assert.Empty(t, environment{"A"}.get("A"))
}
