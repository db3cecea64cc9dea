//go:build unix

package child

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"

	guardprocess "github.com/rowlock/rowlock/internal/cli/child/guard"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// Guard represents a second process of this program. The guard process reads from a pipe, and kills the process group
// of the command when the pipe is closed. Then it removes the folder of the socket. The kernel closes the pipe when
// rowlock dies, even if KILL ends rowlock.
//
// The id of the process group is known only after the command has started. If rowlock dies before it has sent the id,
// the guard searches for processes that have a certain environment variable. The command and all processes that it has
// started have this variable.
type Guard struct {
	mark string // the environment variable of the command, as NAME=value

	mu      sync.Mutex // held while the process starts or ends
	process *exec.Cmd  // nil unless the process runs
	pipe    *os.File
	ended   bool
}

// markName is the name of the environment variable by which the guard finds the command's processes.
// Its value is different for each command.
const markName = "ROWLOCK_GUARD"

var errEnded = errors.New("the guard has ended")

// NewGuard returns a guard for one command. Its process does not run yet: [Start] starts it before the command. The
// caller must call End.
func NewGuard() *Guard { return &Guard{mark: markName + "=" + rand.Text()} }

// Prepare starts the process in the background, so that [Start] does not have to wait for it.
func (g *Guard) Prepare() {
	go func() { _ = g.start() }() // Start repeats a start that has failed
}

// start starts the process, unless it runs already. The process has its own session, so that the terminal sends it no
// signals. It inherits no files and no environment variables of rowlock. So the guard keeps no pipe of the command open,
// and has no password in its environment.
func (g *Guard) start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.process != nil:
		return nil
	case g.ended:
		return errEnded
	}
	path, err := ownProgram()
	if err != nil {
		return err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	process := &exec.Cmd{
		Path: path, Args: []string{system.Program, guardprocess.Argument}, Env: []string{}, Dir: "/", Stdin: theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := process.Start(); err != nil {
		_ = ours.Close()
		return err
	}
	g.process, g.pipe = process, ours
	return nil
}

// pid returns the id of the guard's process, or 0 if it does not run.
func (g *Guard) pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process == nil {
		return 0
	}
	return g.process.Process.Pid
}

// tell sends a text to the process.
func (g *Guard) tell(text string) { _, _ = g.pipe.WriteString(text + guardprocess.End) }

// dismiss ends the process without killing any other process. It is called when no process of the command is left. End
// waits for the end of the process, because the command's result need not wait for it.
func (g *Guard) dismiss() { _ = g.process.Process.Kill() }

// End ends the process, if it runs, without killing any other process. It must not be called while a process of the
// command is left.
func (g *Guard) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if g.process != nil {
		g.dismiss()
		_ = g.process.Wait()
		_ = g.pipe.Close()
		g.process = nil
	}
}
