package child

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	guardprocess "github.com/rowlock/rowlock/internal/cli/child/guard"
	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// Promise: if rowlock dies before it has sent the command's group to the guard, the guard still kills the processes
// that the command has started.
func TestAGuardThatWasToldNoGroup(t *testing.T) {
	g := NewGuard()
	defer g.End()
	require.NoError(t, g.start())
	g.tell(g.mark)
	g.tell("")
	alive, theirs, err := os.Pipe()
	require.NoError(t, err)
	defer alive.Close()
	command := exec.Command("sh", "-c", "sleep 301 & exit") // the shell exits and only its child is left, as if the command itself had been killed
	command.Env = append(os.Environ(), g.mark)
	command.ExtraFiles = []*os.File{theirs}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, command.Run())
	require.NoError(t, theirs.Close())

	require.NoError(t, g.pipe.Close()) // the kernel closes this pipe when rowlock dies
	require.NoError(t, alive.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadAll(alive) // returns when no process has the pipe open
	require.NoError(t, err)
}

// Promise: a guard that has received nothing from rowlock kills no process. Such a guard knows no process group, and no
// environment variable to search for. A search for an empty text would find every process that has overwritten its
// environment.
func TestAGuardThatWasToldNothing(t *testing.T) {
	alive, theirs, err := os.Pipe()
	require.NoError(t, err)
	defer alive.Close()
	cat, err := exec.LookPath("cat")
	require.NoError(t, err)
	bystander, err := os.StartProcess(cat, []string{"cat"}, &os.ProcAttr{
		Env: []string{"A=", "", ""}, Files: []*os.File{alive, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	require.NoError(t, err)
	require.NoError(t, exec.Command("/proc/self/exe", guardprocess.Argument).Run())
	require.NoError(t, theirs.Close())
	end, err := bystander.Wait()
	require.NoError(t, err)
	require.True(t, end.Success(), "it was killed")
}
