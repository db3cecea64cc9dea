//go:build unix

package system

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// forwarded lists the signals that rowlock forwards to the command's process group.
var forwarded = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// ending lists the signals that end the wait for a lock.
var ending = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT}

// ForwardStops catches SIGTSTP, the signal of the terminal's suspend key, to forward it to the command.
// Before this call, the suspend key suspends rowlock like any other program.
func (s *Signals) ForwardStops() { s.catch(unix.SIGTSTP) }

// Suspend stops the process group of rowlock, and returns when the group is continued. The group includes the other
// programs of the same shell job. It does nothing in the group of the session leader, because no shell could continue
// that group.
func (s *Signals) Suspend() {
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpgrp() {
		return
	}
	// The call of kill may return before SIGSTOP takes effect. So Suspend waits for SIGCONT, which shows that rowlock
	// was suspended and continued.
	const longest = time.Second
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	signal.Reset(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // SIGTSTP does not stop this process: once a signal was caught, Go's runtime keeps its own handler for that signal
	select {
	case <-continued:
	case <-time.After(longest):
	}
	s.ForwardStops()
}
