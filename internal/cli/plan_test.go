package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The option dry-run shows which resources would be sealed, and in which database. It refuses what run refuses.
func TestDryRunShowsTheFence(t *testing.T) {
	dir := t.TempDir()
	locks, data := "sqlite:"+filepath.Join(dir, "locks.db"), "sqlite:"+filepath.Join(dir, "data.db")
	for _, args := range [][]string{{"run", "nightly", "--", "true"}, {"migrate", "up", "--store", data}} {
		code, _, stderr := call(t, []string{"ROWLOCK_STORE=" + locks}, args...)
		require.Zero(t, code, stderr)
	}
	plan := func(options ...string) (int, string, string) {
		t.Helper()
		return call(t, []string{"ROWLOCK_STORE=" + locks}, append(append([]string{"run", "nightly", "--dry-run"}, options...), "--", "true")...)
	}
	code, stdout, stderr := plan("--fence=orders,it's")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "\nseals:    \"orders\", \"it's\" in "+locks+"\nnow: ")
	code, stdout, stderr = plan("--fence=orders", "--data="+data)
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "\nseals:    \"orders\" in "+data+"\n")
	_, stdout, _ = plan()
	assert.NotContains(t, stdout, "seals:")
	code, stdout, stderr = plan("--data=" + data)
	assert.Equal(t, 64, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "add --fence=RESOURCE")
	code, stdout, stderr = call(t, []string{"ROWLOCK_STORE=" + locks}, "fence", "ls", "--all")
	require.Zero(t, code, stderr)
	assert.NotContains(t, stdout, "orders", "nothing was sealed")
}
