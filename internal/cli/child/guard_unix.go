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

// guardArgument makes this system.Program the guard of another process of it.
const guardArgument = "__guard"

// IsGuard says whether this process was started to be a guard.
func IsGuard(args []string) bool { return len(args) == 1 && args[0] == guardArgument }

// guard is a second process of this system.Program. It reads from a pipe, and kills the process group of the command when the
// pipe ends: the kernel closes it when rowlock dies, also by KILL.
//
// The group's id is known only once the command runs. Should rowlock die before it has passed the id on, the guard looks for
// the group by a variable that the command, and all that it has started by then, has in its environment.
type guard struct {
	process *exec.Cmd
	pipe    *os.File
	mark    string // the variable, as NAME=value
}

// markName is the name of the variable. Its value is different for each command.
const markName = "ROWLOCK_GUARD"

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
