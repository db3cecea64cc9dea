//go:build unix

package cli

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a running command and its process group, whose id is that of the command.
type child struct {
	group  int
	guard  *guard
	exited chan int            // gets the exit code of the command itself
	paused chan syscall.Signal // gets the signal that stopped it, for as long as it has not exited
	gone   chan struct{}       // closed when nobody of the group is left
}

// startChild starts the command as the leader of a new process group, under a guard that kills the group when rowlock
// itself is killed.
func startChild(path string, argv, env []string, std Stdio) (*child, error) {
	adoptOrphans()
	guard, err := startGuard()
	if err != nil {
		return nil, fail(exitInternal, "start the process that stops the command when rowlock is killed: %w", reason(err))
	}
	cmd := command(path, argv, env, std)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	c := &child{guard: guard, exited: make(chan int, 1), paused: make(chan syscall.Signal, 1), gone: make(chan struct{})}
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

func (c *child) wait() {
	defer close(c.gone)
	defer c.guard.dismiss()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(c.group, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // somebody else in this process waited for it, so nothing is known of its end
			c.exited <- exitInternal
			c.awaitGroup()
			return
		case status.Stopped():
			select {
			case c.paused <- status.StopSignal():
			default: // the one before it was not looked at yet
			}
		case status.Exited():
			c.exited <- status.ExitStatus()
			c.awaitGroup()
			return
		case status.Signaled():
			c.exited <- exitSignal + int(status.Signal())
			c.awaitGroup()
			return
		}
	}
}

// awaitGroup returns when nobody of the group is left. There is no event for that, so it looks, soon
// at first: mostly nobody is left at once. While anybody is left, the system gives the group's id to
// nobody else.
func (c *child) awaitGroup() {
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
func (c *child) signal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		select {
		case <-c.gone:
		default:
			_ = unix.Kill(-c.group, s)
		}
	}
}

// terminate asks the group to end; a process that is stopped is continued, to be able to.
func (c *child) terminate() {
	c.signal(unix.SIGTERM)
	c.signal(unix.SIGCONT)
}

func (c *child) kill() { c.signal(unix.SIGKILL) }

func isNoProgram(err error) bool { return errors.Is(err, unix.ENOEXEC) }

func isNoRoom(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}
