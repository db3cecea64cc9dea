package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// A duration needs a unit. A flag accepts the value inf only if the flag may mean "without a limit".
func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "500ms": 500 * time.Millisecond, "1h30m": 90 * time.Minute, "30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "inf": terminal.Forever} {
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

// "rowlock run" requires one name before --, and a command after it.
func TestRunArguments(t *testing.T) {
	t.Parallel()
	assert.NoError(t, checkRunArgs(1, []string{"job", "cmd"}))
	assert.NoError(t, checkRunArgs(1, []string{"job", "cmd", "arg", "--"}))
	for _, bad := range []struct {
		dash int
		args []string
	}{{-1, nil}, {-1, []string{"job"}}, {-1, []string{"job", "cmd"}}, {0, []string{"cmd"}}, {1, []string{"job"}}, {2, []string{"a", "b", "cmd"}}} {
		err := checkRunArgs(bad.dash, bad.args)
		assert.Equal(t, exit.Usage, exit.Code(err), "%d %q", bad.dash, bad.args)
	}
}
