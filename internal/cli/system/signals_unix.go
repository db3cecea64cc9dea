//go:build unix

package system

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// forwarded goes to the command's group.
var forwarded = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// ending is what ends the waiting for a lock.
var ending = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT}

// ForwardStops sends the suspend key of the terminal on to the command. While there is none,
// rowlock is suspended as any other program.
func (s *Signals) ForwardStops() { s.catch(unix.SIGTSTP) }

// Suspend stops the process group of rowlock, with what else the shell runs in it, and returns when
// it goes on. The group of the session's leader is never stopped: no shell is there to continue it.
func (s *Signals) Suspend() {
	session, err := unix.Getsid(0)
	if err != nil || session == unix.Getpgrp() {
		return
	}
	// STOP takes effect at some time after the call, and CONT says that it is over.
	const longest = time.Second
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	signal.Reset(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // for Go's runtime has caught TSTP once, and never lets go of it
	select {
	case <-continued:
	case <-time.After(longest):
	}
	s.ForwardStops()
}
