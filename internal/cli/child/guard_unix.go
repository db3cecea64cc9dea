//go:build unix

package child

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	guardprocess "github.com/rowlock/rowlock/internal/cli/child/guard"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// guard represents a second process of this program. The guard process reads from a pipe, and kills the process group
// of the command when the pipe is closed. Then it removes the folder of the socket. The kernel closes the pipe when rowlock dies, even if KILL ends rowlock.
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
// environment. The parameter socket is the absolute path of the socket's folder, or empty.
func startGuard(socket string) (*guard, error) {
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
		Path: path, Args: []string{system.Program, guardprocess.Argument, socket}, Env: []string{}, Dir: "/", Stdin: theirs,
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
