//go:build unix

package child

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// guardArgument starts this program as the guard of another rowlock process, if it is the only argument.
const guardArgument = "__guard"

// IsGuard reports whether this process was started as a guard.
func IsGuard(args []string) bool { return len(args) == 1 && args[0] == guardArgument }

// guard represents a second process of this program. The guard process reads from a pipe, and kills the process group
// of the command when the pipe is closed. The kernel closes the pipe when rowlock dies, even if KILL ends rowlock.
//
// The id of the process group is known only after the command has started. If rowlock dies before it has sent the id,
// the guard searches for processes that have a certain environment variable. The command and all processes that it has
// started have this variable.
type guard struct {
	process *exec.Cmd
	pipe    *os.File
	mark    string // the environment variable of the command, as NAME=value
}

// markName is the name of the environment variable by which the guard finds the command's processes.
// Its value is different for each command.
const markName = "ROWLOCK_GUARD"

// startGuard starts the guard in its own session, so that the terminal sends it no signals. The guard inherits no files
// and no environment variables of rowlock. So the guard keeps no pipe of the command open, and has no password in its
// environment.
func startGuard() (*guard, error) {
	path, err := ownProgram()
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	g := &guard{pipe: ours, mark: markName + "=" + rand.Text(), process: &exec.Cmd{
		Path: path, Args: []string{system.Program, guardArgument}, Env: []string{}, Dir: "/", Stdin: theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if err := g.process.Start(); err != nil {
		_ = ours.Close()
		return nil, err
	}
	_, _ = fmt.Fprintln(g.pipe, g.mark)
	return g, nil
}

// watch sends the guard the id of the process group that it has to kill.
func (g *guard) watch(group int) { _, _ = fmt.Fprintln(g.pipe, group) }

// dismiss ends the guard without killing any process. It is called when no process of the command is left.
func (g *guard) dismiss() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
	_ = g.pipe.Close()
}

// BeGuard runs the guard process, and returns its exit code. It ignores all signals that a process can ignore.
// Otherwise a service manager that sends TERM to all processes of a service would end the guard before the command has
// ended.
func BeGuard(pipe io.Reader) int {
	signal.Ignore()
	text, _ := io.ReadAll(pipe) // returns when rowlock closes the pipe or dies
	mark, id, marked := strings.Cut(string(text), "\n")
	switch group, err := strconv.Atoi(strings.TrimSpace(id)); {
	case !marked: // rowlock died before it started the command, so there is no process to kill
	case err != nil:
		killMarked(mark)
	case group > 1:
		_ = unix.Kill(-group, unix.SIGKILL)
	}
	return exit.OK
}
