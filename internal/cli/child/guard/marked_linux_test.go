package guard

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: a process of the command is killed even if the first search misses it. While a process executes another
// program, its environment reads as empty for a moment. Here a shell without the variable executes a program with it
// after the first search.
func TestAProcessThatTheFirstSearchMissed(t *testing.T) {
	t.Parallel()
	const mark = "ROWLOCK_GUARD_TEST=TestAProcessThatTheFirstSearchMissed"
	command := exec.Command("sh", "-c", "read -r variable; exec env \"$variable\" cat /dev/stdin")
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	defer func() { _ = command.Process.Kill() }()

	searched := false
	killMarked(mark, func(time.Duration) {
		if !searched {
			searched = true
			_, err := stdin.Write([]byte(mark + "\n"))
			require.NoError(t, err)
			_, err = stdin.Write([]byte("x"))
			require.NoError(t, err)
			_, err = io.ReadFull(stdout, make([]byte, 1)) // cat, which has the variable, sends it back
			require.NoError(t, err)
		}
	})
	_, err = io.ReadAll(stdout)
	require.NoError(t, err)
	var ended *exec.ExitError
	require.ErrorAs(t, command.Wait(), &ended)
	require.Equal(t, "signal: killed", strings.TrimSpace(ended.Error()))
}
