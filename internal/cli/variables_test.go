package cli

import (
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// Each global option and each option of run has an environment variable with the same effect. --dry-run, --once and
// --once-per have none, because such a variable would silently prevent unattended jobs from running. The error for an invalid value
// names the variable.
func TestOptionsHaveVariables(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"store": "sqlite:" + filepath.Join(t.TempDir(), "locks.db"), "namespace": "space", "table": "mine", "log-format": "json", "quiet": "true",
		"on-conflict": "skip", "hide-store": "true", "conflict-exit-code": "76", "wait": "1s", "ttl": "41s", "min-hold": "1s", "max-hold": "42s", "timeout": "43s",
		"grace": "9s", "handover-delay": "2s", "holder": "somebody", "note": "because", "slots": "2", "shared": "true",
		"data": "sqlite:data.db",
	}
	bad := map[string]string{
		"store": "nothing", "table": "a b", "log-format": "xml", "quiet": "perhaps", "on-conflict": "cry", "hide-store": "perhaps", "conflict-exit-code": "seven",
		"wait": "5", "ttl": "5", "min-hold": "5", "max-hold": "5", "timeout": "5", "grace": "5", "handover-delay": "5", "slots": "many", "shared": "perhaps",
	}
	root := (&app{}).rootCommand()
	run, _, err := root.Find([]string{"run"})
	require.NoError(t, err)
	var env []string
	run.Flags().VisitAll(func(f *pflag.Flag) {
		if !withoutVariable[f.Name] {
			require.Contains(t, good, f.Name, "no value for this test")
		}
	})
	names := map[string]bool{}
	for _, name := range withVariables(run) {
		names[name] = true
		require.NoError(t, run.ParseFlags(nil)) // parsing makes the global options visible in the flags of run
		require.NotNil(t, run.Flags().Lookup(name), name)
		env = append(env, variable(name)+"="+good[name])
	}
	require.NoError(t, fromEnvironment(run.Flags(), env, withVariables(run)...))
	for name, value := range good {
		assert.True(t, names[name], "--%s has no variable", name)
		assert.Equal(t, value, run.Flags().Lookup(name).Value.String(), name)
	}
	run.Flags().VisitAll(func(f *pflag.Flag) {
		assert.True(t, names[f.Name] || withoutVariable[f.Name], "--%s has no variable", f.Name)
	})
	for name, value := range bad {
		code, _, stderr := call(t, []string{variable(name) + "=" + value, "HOME=" + t.TempDir()}, "run", "job", "--", "true")
		assert.Equal(t, exit.Usage, code, stderr)
		if name != "store" && name != "table" { // the values of these two options are checked only when a store is opened
			assert.Contains(t, stderr, variable(name)+"="+value)
		}
	}
}

// An option overrides its environment variable. An option for a single action, such as the --token of release,
// has no variable. So ROWLOCK_TOKEN, which rowlock sets for the command under the lock, never sets --token.
func TestVariablesDoNotSayWhatToDo(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "ROWLOCK_WAIT=5", "ROWLOCK_TOKEN=7", "ROWLOCK_LIVE=true", "ROWLOCK_DRY_RUN=true"}
	code, stdout, stderr := call(t, env, "run", "job", "--wait", "0", "--dry-run", "--", "true")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "the command would start")
	code, _, stderr = call(t, env, "release", "job")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, "--token is missing")
}
