package cli

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/cli/view"
)

// hostile contains characters that move the cursor, end the line and reverse the reading direction,
// and a shell command.
const hostile = "a\x1b[2J\r\nb\u009b31m\u202ec\U000e0041 'd' \\$(touch${IFS}pwn)"

// If another program has written control characters into the store, the output for a terminal contains none of them.
// The JSON output contains the texts exactly.
func TestTextsOfOthersDoNothingToATerminal(t *testing.T) {
	t.Parallel()
	a := &app{store: "sqlite:" + filepath.Join(t.TempDir(), "locks.db"), table: "rowlock_lease"}
	s, err := a.openStore(t.Context())
	require.NoError(t, err)
	defer s.Close()
	locker, err := rowlock.New(s.Backend, rowlock.TTL(time.Minute), rowlock.Holder(hostile), rowlock.Note(hostile))
	require.NoError(t, err)
	defer func() { assert.NoError(t, locker.Close()) }()
	lease, err := locker.TryAcquire(t.Context(), hostile)
	require.NoError(t, err)
	token := lease.Token().String()
	_, err = locker.Pause(t.Context(), "paused"+hostile, hostile)
	require.NoError(t, err)

	for _, args := range [][]string{
		{"status", hostile}, {"status", "--json", hostile}, {"ls"}, {"ls", "--json"}, {"ls", "--all"},
		{"wait", "--timeout=0s", hostile}, {"wait", "--timeout=0s", "--json", hostile},
		{"run", hostile, "--", "true"}, {"run", "--dry-run", hostile, "--", "true"}, {"history", hostile}, {"history", "--json", hostile},
		{"release", "--token", token, hostile}, {"release", "--token", "1", "paused" + hostile}, {"resume", hostile},
		{"run", hostile}, {"status", "one", hostile},
	} {
		for _, format := range []string{"text", "json"} {
			args := append([]string{"--log-format", format, "--store", a.store}, args...)
			_, stdout, stderr := call(t, []string{"HOME=" + t.TempDir()}, args...)
			for _, r := range stdout + stderr {
				if r != '\n' && !strconv.IsPrint(r) {
					assert.Fail(t, "not printable", "%q writes %q: %q", args, r, stdout+stderr)
					break
				}
			}
			require.NotEmpty(t, stdout+stderr, "%q", args)
		}
	}
	_, stdout, _ := call(t, nil, "status", "--json", "--store", a.store, hostile)
	var v view.Lock
	require.NoError(t, json.Unmarshal([]byte(stdout), &v), stdout)
	assert.Equal(t, [3]string{hostile, hostile, hostile}, [3]string{v.Name, v.Holder, v.Note})
}
