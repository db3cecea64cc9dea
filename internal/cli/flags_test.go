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
	for _, good := range []struct {
		dash int
		args []string
		name string
		argv []string
	}{
		{1, []string{"job", "cmd"}, "job", []string{"cmd"}},
		{1, []string{"job", "cmd", "arg", "--"}, "job", []string{"cmd", "arg", "--"}},
		{0, []string{"-job", "--", "cmd", "--"}, "-job", []string{"cmd", "--"}},
	} {
		name, argv, err := runArgs(good.dash, good.args)
		require.NoError(t, err)
		assert.Equal(t, good.name, name)
		assert.Equal(t, good.argv, argv)
	}
	for _, bad := range []struct {
		dash int
		args []string
	}{{-1, nil}, {-1, []string{"job"}}, {-1, []string{"job", "cmd"}}, {0, []string{"cmd"}}, {0, []string{"echo", "--", "hi"}}, {0, []string{"-job", "--"}}, {1, []string{"job"}}, {2, []string{"a", "b", "cmd"}}} {
		_, _, err := runArgs(bad.dash, bad.args)
		assert.Equal(t, exit.Usage, exit.Code(err), "%d %q", bad.dash, bad.args)
	}
}

// An option that was given without a value, or with a value that switches it off, is an error that names it: probably a
// script has not set a variable.
func TestEmptyAndZeroMeanNothingByAccident(t *testing.T) {
	t.Parallel()
	run := func(args ...string) []string { return append(append([]string{"run", "job"}, args...), "--", "true") }
	for _, bad := range []struct {
		env, args []string
		said      string
	}{
		{nil, run("--once="), "--once=: is empty"},
		{nil, run("--once-per=0"), "--once-per=0: must be larger than 0"},
		{nil, run("--slots=0"), "--slots=0: must be from 1 to 64"},
		{nil, run("--slots=-1"), "--slots=-1: must be from 1 to 64"},
		{nil, run("--slots=65"), "--slots=65: must be from 1 to 64"},
		{nil, run("--max-hold=0"), "--max-hold=0: must be larger than 0"},
		{nil, run("--timeout=0s"), "--timeout=0s: must be larger than 0"},
		{nil, run("--fence=x", "--data="), "--data=: is empty"},
		{nil, run("--store="), "--store: is empty"},
		{[]string{"ROWLOCK_STORE="}, run(), "ROWLOCK_STORE=: is empty"},
		{[]string{"ROWLOCK_STORE="}, []string{"ls"}, "ROWLOCK_STORE=: is empty"},
		{[]string{"ROWLOCK_SLOTS=0"}, run(), "ROWLOCK_SLOTS=0: must be from 1 to 64"},
		{[]string{"ROWLOCK_TIMEOUT="}, run(), "ROWLOCK_TIMEOUT=: write a number with a unit"},
	} {
		code, stdout, stderr := call(t, append(bad.env, "HOME="+t.TempDir()), bad.args...)
		assert.Equal(t, exit.Usage, code, "%v %v: %s", bad.env, bad.args, stderr)
		assert.Contains(t, stderr, bad.said)
		assert.Empty(t, stdout)
	}
}
