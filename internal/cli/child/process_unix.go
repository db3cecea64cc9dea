//go:build unix

package child

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// Process is a running command and its process group, whose id is that of the command.
type Process struct {
	group  int
	guard  *guard
	Exited chan int            // gets the exit code of the command itself
	Paused chan syscall.Signal // gets the signal that stopped it, for as long as it has not exited
	Gone   chan struct{}       // closed when nobody of the group is left
}

// Start starts the command as the leader of a new process group, under a guard that kills the group when rowlock
// itself is killed.
func Start(path string, argv, env []string, std system.Stdio) (*Process, error) {
	adoptOrphans()
	guard, err := startGuard()
	if err != nil {
		return nil, exit.Failf(exit.Internal, "start the process that stops the command when rowlock is killed: %w", reason(err))
	}
	cmd := command(path, argv, append(env[:len(env):len(env)], guard.mark), std)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	c := &Process{guard: guard, Exited: make(chan int, 1), Paused: make(chan syscall.Signal, 1), Gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread has to live for as long as the command
		if err := cmd.Start(); err != nil {
			guard.dismiss()
			started <- err
			return
		}
		c.group = cmd.Process.Pid
		guard.watch(c.group)
		_ = cmd.Process.Release() // Wait would not tell when the command is stopped
		started <- nil
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
		case err != nil: // somebody else in this process waited for it, so nothing is known of its end
			c.Exited <- exit.Internal
			c.awaitGroup()
			return
		case status.Stopped():
			select {
			case c.Paused <- status.StopSignal():
			default: // the one before it was not looked at yet
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

// awaitGroup returns when nobody of the group is left. There is no event for that, so it looks, soon
// at first: mostly nobody is left at once. While anybody is left, the system gives the group's id to
// nobody else.
func (c *Process) awaitGroup() {
	const longest = 50 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		var status unix.WaitStatus
		for pid := 1; pid > 0; { // orphans that this process adopted
			pid, _ = unix.Wait4(-c.group, &status, unix.WNOHANG, nil)
		}
		if errors.Is(unix.Kill(-c.group, 0), unix.ESRCH) {
			return
		}
		time.Sleep(pause)
	}
}

// signal sends sig to the group. It is without effect when nobody is left.
func (c *Process) signal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		select {
		case <-c.Gone:
		default:
			_ = unix.Kill(-c.group, s)
		}
	}
}

// Terminate asks the group to end; a process that is stopped is continued, to be able to.
func (c *Process) Terminate() {
	c.signal(unix.SIGTERM)
	c.signal(unix.SIGCONT)
}

// Kill ends all that is left of the command at once.
func (c *Process) Kill() { c.signal(unix.SIGKILL) }

func isNoProgram(err error) bool { return errors.Is(err, unix.ENOEXEC) }

func isNoRoom(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}
