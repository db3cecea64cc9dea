//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, if there is one. A command in a process group of its own is
// in the background of it, where a command that asks its user something is stopped by the system
// (termios(3): SIGTTIN, SIGTTOU). So the terminal is lent to the group when that happens, and not
// sooner: in "rowlock run … | less" it belongs to less.
type terminal struct {
	tty     *os.File
	lent    bool
	suspend bool // the suspend key was pressed before the terminal was lent
}

// forward sends a signal on to the command.
func (t *terminal) forward(c *child, sig os.Signal) {
	t.suspend = t.suspend || sig == unix.SIGTSTP
	c.signal(sig)
}

// childPaused reacts to the command having been stopped by sig. A stop that has nothing to do with
// the terminal is left to whoever asked for it.
//
// Where a shell would suspend the command it suspends rowlock with it, by suspend, so that the shell has its
// terminal back. Nothing is renewed then: suspend says whether the lease is still trusted, so that the command may go on.
func (t *terminal) childPaused(c *child, sig syscall.Signal, suspend func() (trusted bool)) {
	if !t.open() {
		return
	}
	switch sig {
	case unix.SIGTTIN, unix.SIGTTOU:
		// To continue what is stopped makes it forget another stop that was on its way.
		if !t.suspend && t.lend(c) {
			c.signal(unix.SIGCONT)
			return
		}
	case unix.SIGTSTP:
	default:
		return
	}
	t.suspend = false
	lent := t.lent
	t.takeBack()
	if !suspend() {
		return // it is about to be stopped for good
	}
	if lent {
		t.lend(c)
	}
	c.signal(unix.SIGCONT)
}

func (t *terminal) open() bool {
	if t.tty == nil {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return false
		}
		t.tty = tty
	}
	return true
}

// lend makes the command's group the foreground of the terminal, if rowlock's own is.
func (t *terminal) lend(c *child) bool {
	fd := int(t.tty.Fd())
	front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || front != unix.Getpgrp() {
		return false
	}
	t.lent = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, c.group) == nil
	return t.lent
}

// takeBack makes rowlock's own group the foreground again, if it has lent the terminal.
func (t *terminal) takeBack() {
	if !t.lent {
		return
	}
	signal.Ignore(unix.SIGTTOU) // which the system sends to a background process that does this
	_ = unix.IoctlSetPointerInt(int(t.tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
	signal.Reset(unix.SIGTTOU)
	t.lent = false
}

// suspend stops the process group of rowlock, with what else the shell runs in it, and returns when
// it goes on. The group of the session's leader is never stopped: no shell is there to continue it.
func (s *signals) suspend() {
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
	s.forwardStops()
}
