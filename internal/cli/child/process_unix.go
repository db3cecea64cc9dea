//go:build unix

package child

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// Process represents a running command and its process group. The id of the group is the process id of the command.
type Process struct {
	group  int
	guard  *Guard
	Exited chan int            // receives the exit code of the command itself
	Paused chan syscall.Signal // receives each signal that has stopped (suspended) the command
	Gone   chan struct{}       // closed when no process of the group is left
}

// Start starts the command as the leader of a new process group. If rowlock itself is killed, the guard kills the group,
// and removes the folder with the socket for the processes that inherit the lease. The parameter socket is the absolute
// path of that folder. It is empty if there is no socket.
func Start(path string, argv, env []string, std system.Stdio, guard *Guard, socket string) (*Process, error) {
	adoptOrphans()
	if err := guard.start(); err != nil {
		return nil, exit.Failf(exit.Internal, "start the guard process of the command: %w", reason(err))
	}
	guard.tell(guard.mark)
	guard.tell(socket)
	cmd := command(path, argv, append(env[:len(env):len(env)], guard.mark), std)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	c := &Process{guard: guard, Exited: make(chan int, 1), Paused: make(chan syscall.Signal, 1), Gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: with dieTogether the kernel kills the command when this thread ends
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.group = cmd.Process.Pid
		guard.tell(strconv.Itoa(c.group))
		_ = cmd.Process.Release() // exec's Wait does not report stops, so wait4 is called below instead
		started <- nil
		if std.Exits { // otherwise other code of this process may wait for its own children
			go reapOrphans(c.Gone, func(pid int) bool { return pid == c.group || pid == guard.pid() })
		}
		c.wait()
	}()
	if err := <-started; err != nil {
		return nil, startFailure(path, err)
	}
	return c, nil
}

func (c *Process) wait() {
	defer close(c.Gone)
	defer c.guard.dismiss()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(c.group, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // other code in this process has waited for the command, so its exit code is unknown
			c.Exited <- exit.Internal
			c.awaitGroup()
			return
		case status.Stopped():
			select {
			case c.Paused <- status.StopSignal():
			default: // the receiver has not read the previous signal yet, so this signal is dropped
			}
		case status.Exited():
			c.Exited <- status.ExitStatus()
			c.awaitGroup()
			return
		case status.Signaled():
			c.Exited <- exit.Signal + int(status.Signal())
			c.awaitGroup()
			return
		}
	}
}

// awaitGroup returns when no process of the group is left. The system does not notify of this, so awaitGroup polls.
// Its first delays are short, because the group usually ends at once. The system does not reuse the group's id while a
// process of the group is left.
func (c *Process) awaitGroup() {
	const longest = 50 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		var status unix.WaitStatus
		for pid := 1; pid > 0; { // reap each ended process of the group; this process has adopted the orphans
			pid, _ = unix.Wait4(-c.group, &status, unix.WNOHANG, nil)
		}
		if errors.Is(unix.Kill(-c.group, 0), unix.ESRCH) {
			return
		}
		time.Sleep(pause)
	}
}

// signal sends sig to the group. It has no effect if no process of the group is left.
func (c *Process) signal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		select {
		case <-c.Gone:
		default:
			_ = unix.Kill(-c.group, s)
		}
	}
}

// Terminate sends TERM to the group. It also continues suspended processes, so that they can end.
func (c *Process) Terminate() {
	c.signal(unix.SIGTERM)
	c.signal(unix.SIGCONT)
}

// Kill kills all remaining processes of the group at once.
func (c *Process) Kill() { c.signal(unix.SIGKILL) }

func isNoProgram(err error) bool { return errors.Is(err, unix.ENOEXEC) }

func isNoRoom(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}
