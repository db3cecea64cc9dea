package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without --store and ROWLOCK_STORE, the lock is in a file that excludes only this user's processes on this machine. If
// stderr is not a terminal, rowlock writes a message about this limit to stderr. The message is meant for jobs of cron,
// for example, because cron removes environment variables such as ROWLOCK_STORE. rowlock writes no such message if
// --store names the file or is local.
func TestTheDefaultStoreSaysHowFarItReaches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"XDG_STATE_HOME=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	file := "sqlite:" + filepath.Join(dir, "rowlock", "locks.db")
	code, stdout, stderr := call(t, env, "run", "hello", "--", "echo", "hi")
	require.Zero(t, code, stderr)
	assert.Equal(t, "hi\n", stdout)
	assert.Equal(t, "rowlock: neither --store nor ROWLOCK_STORE is set: locks are kept in "+file+", and exclude only processes of this user on this machine (to hide this message: --store=local)\n", stderr)

	for _, store := range []string{"local", file} {
		code, stdout, stderr = call(t, env, "run", "hello", "--store", store, "--", "echo", "hi")
		require.Zero(t, code, stderr)
		assert.Equal(t, "hi\n", stdout)
		assert.Empty(t, stderr)
	}
	code, stdout, stderr = call(t, append(env, "ROWLOCK_STORE=local"), "status", "hello")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, `"hello" is free`)

	code, stdout, stderr = call(t, env, "run", "hello", "--dry-run", "--", "echo", "hi")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "\nstore:    "+file+"\nexcludes: processes of this user on this machine\n")
	code, stdout, stderr = call(t, env, "doctor")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, file+": excludes processes of this user on this machine")
}
