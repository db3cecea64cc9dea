//go:build unix

package system

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// forwarded are the signals that go to the command's group.
var forwarded = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// ending are the signals that end the wait for a lock.
var ending = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT}

// ForwardStops forwards the terminal's suspend key to the command. While there is no command, rowlock is suspended like
// any other program.
func (s *Signals) ForwardStops() { s.catch(unix.SIGTSTP) }

// Suspend stops the process group of rowlock, which includes other programs of the same shell job, and returns when it
// is continued. It never stops the group of the session leader: there would be no shell to continue it.
func (s *Signals) Suspend() {
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpgrp() {
		return
	}
	// STOP takes effect some time after the call, and CONT reports that it is over.
	const longest = time.Second
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	signal.Reset(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // Go's runtime has caught TSTP once and never releases it
	select {
	case <-continued:
	case <-time.After(longest):
	}
	s.ForwardStops()
}
