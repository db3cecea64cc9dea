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

// guardArgument makes this program run as the guard of another rowlock process.
const guardArgument = "__guard"

// IsGuard reports whether this process was started as a guard.
func IsGuard(args []string) bool { return len(args) == 1 && args[0] == guardArgument }

// guard is a second process of this program. It reads from a pipe, and kills the process group of the command when the
// pipe ends. The kernel closes the pipe when rowlock dies, even from KILL.
//
// The group's id is known only once the command runs. If rowlock dies before it sends the id, the guard searches for
// the group by an environment variable. The command and all processes that it has started have that variable.
type guard struct {
	process *exec.Cmd
	pipe    *os.File
	mark    string // the variable, as NAME=value
}

// markName is the name of the variable. Its value is different for each command.
const markName = "ROWLOCK_GUARD"

// startGuard starts the guard in a session of its own, so that no key of the terminal reaches it. The guard gets none
// of rowlock's files and variables. So it keeps no pipe of the command open, and has no password in its environment.
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

// watch sends the guard the id of the group to kill.
func (g *guard) watch(group int) { _, _ = fmt.Fprintln(g.pipe, group) }

// dismiss ends the guard when there is nothing left to kill.
func (g *guard) dismiss() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait()
	_ = g.pipe.Close()
}

// BeGuard runs the guard. It ignores every signal that can be ignored: a service manager that sends TERM to all
// processes of a service means the command, which needs its time to end.
func BeGuard(pipe io.Reader) int {
	signal.Ignore()
	text, _ := io.ReadAll(pipe) // returns when rowlock ends
	mark, id, marked := strings.Cut(string(text), "\n")
	switch group, err := strconv.Atoi(strings.TrimSpace(id)); {
	case !marked: // no command was started yet
	case err != nil:
		killMarked(mark)
	case group > 1:
		_ = unix.Kill(-group, unix.SIGKILL)
	}
	return exit.OK
}
