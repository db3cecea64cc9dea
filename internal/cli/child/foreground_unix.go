//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground is the controlling terminal, if there is one. A command in a process group of its own is in the background
// of that terminal. If it reads from its user, the system stops it (termios(3): SIGTTIN, SIGTTOU). Only then is the
// terminal lent to the group: in "rowlock run … | less" the terminal belongs to less.
type Foreground struct {
	tty     *os.File
	lent    bool
	suspend bool // the suspend key was pressed before the terminal was lent
}

// Forward forwards a signal to the command.
func (t *Foreground) Forward(c *Process, sig os.Signal) {
	t.suspend = t.suspend || sig == unix.SIGTSTP
	c.signal(sig)
}

// ChildPaused handles that sig has stopped the command. If the stop has nothing to do with the terminal, ChildPaused
// does nothing: the process that stopped the command also continues it.
//
// If a shell would suspend the command, ChildPaused calls suspend, which suspends rowlock, so that the shell gets its
// terminal back. No lease is renewed meanwhile. suspend reports whether the lease is still trusted, so that the command
// may continue.
func (t *Foreground) ChildPaused(c *Process, sig syscall.Signal, suspend func() (trusted bool)) {
	if !t.open() {
		return
	}
	switch sig {
	case unix.SIGTTIN, unix.SIGTTOU:
		// Continuing a stopped process cancels another stop that is pending.
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
	t.TakeBack()
	if !suspend() {
		return // it will be stopped for good
	}
	if lent {
		t.lend(c)
	}
	c.signal(unix.SIGCONT)
}

func (t *Foreground) open() bool {
	if t.tty == nil {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return false
		}
		t.tty = tty
	}
	return true
}

// lend makes the command's group the foreground group of the terminal, if rowlock's own group is in the foreground.
func (t *Foreground) lend(c *Process) bool {
	fd := int(t.tty.Fd())
	front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || front != unix.Getpgrp() {
		return false
	}
	t.lent = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, c.group) == nil
	return t.lent
}

// TakeBack makes rowlock's own group the foreground group again, if rowlock has lent the terminal.
func (t *Foreground) TakeBack() {
	if !t.lent {
		return
	}
	signal.Ignore(unix.SIGTTOU) // the system sends it to a background process that makes this call
	_ = unix.IoctlSetPointerInt(int(t.tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
	signal.Reset(unix.SIGTTOU)
	t.lent = false
}
