//go:build unix

package child

import (
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

// guardArgument makes this system.Program the guard of another process of it.
const guardArgument = "__guard"

// IsGuard says whether this process was started to be a guard.
func IsGuard(args []string) bool { return len(args) == 1 && args[0] == guardArgument }

// guard is a second process of this system.Program. It reads from a pipe, and kills the process group of the command when the
// pipe ends: the kernel closes it when rowlock dies, also by KILL.
type guard struct {
	process *exec.Cmd
	pipe    *os.File
}

// startGuard starts the guard in a session of its own, so that no key of the terminal reaches it. It has none of
// rowlock's files and variables: the command may outlive no pipe because of it, and no password is in its environment.
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
	g := &guard{pipe: ours, process: &exec.Cmd{
		Path: path, Args: []string{system.Program, guardArgument}, Env: []string{}, Dir: "/", Stdin: theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if err := g.process.Start(); err != nil {
		_ = ours.Close()
		return nil, err
	}
	return g, nil
}

// watch tells the guard which group it has to kill.
func (g *guard) watch(group int) { _, _ = fmt.Fprintln(g.pipe, group) }

// dismiss ends the guard when there is nothing left to be killed.
func (g *guard) dismiss() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
	_ = g.pipe.Close()
}

// BeGuard is what the guard does. It ignores every signal that can be ignored: who ends all processes of a service
// with TERM means the command, and leaves it its time to end.
func BeGuard(pipe io.Reader) int {
	signal.Ignore()
	text, _ := io.ReadAll(pipe) // up to the end of rowlock
	group, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil && group > 1 {
		_ = unix.Kill(-group, unix.SIGKILL)
	}
	return exit.OK
}
