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

// Suspend stops the process group of rowlock, which includes other programs of the same shell job, and returns when the
// group is continued. It does nothing in the group of the session leader, because no shell could continue that group.
func (s *Signals) Suspend() {
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpgrp() {
		return
	}
	// SIGSTOP takes effect some time after the call of kill, and SIGCONT shows that rowlock was continued.
	const longest = time.Second
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	signal.Reset(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // SIGTSTP does not stop this process, because Go's runtime keeps its handler for a signal that was caught once
	select {
	case <-continued:
	case <-time.After(longest):
	}
	s.ForwardStops()
}
