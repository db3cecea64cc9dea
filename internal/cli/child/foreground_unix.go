//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground is the controlling terminal, if there is one. A command in a process group of its own is
// in the background of it, where a command that asks its user something is stopped by the system
// (termios(3): SIGTTIN, SIGTTOU). So the terminal is lent to the group when that happens, and not
// sooner: in "rowlock run … | less" it belongs to less.
type Foreground struct {
	tty     *os.File
	lent    bool
	suspend bool // the suspend key was pressed before the terminal was lent
}

// Forward sends a signal on to the command.
func (t *Foreground) Forward(c *Process, sig os.Signal) {
	t.suspend = t.suspend || sig == unix.SIGTSTP
	c.signal(sig)
}

// ChildPaused reacts to the command having been stopped by sig. A stop that has nothing to do with
// the terminal is left to whoever asked for it.
//
// Where a shell would suspend the command it suspends rowlock with it, by suspend, so that the shell has its
// terminal back. Nothing is renewed then: suspend says whether the lease is still trusted, so that the command may go on.
func (t *Foreground) ChildPaused(c *Process, sig syscall.Signal, suspend func() (trusted bool)) {
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
	t.TakeBack()
	if !suspend() {
		return // it is about to be stopped for good
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

// lend makes the command's group the foreground of the terminal, if rowlock's own is.
func (t *Foreground) lend(c *Process) bool {
	fd := int(t.tty.Fd())
	front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || front != unix.Getpgrp() {
		return false
	}
	t.lent = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, c.group) == nil
	return t.lent
}

// TakeBack makes rowlock's own group the foreground again, if it has lent the terminal.
func (t *Foreground) TakeBack() {
	if !t.lent {
		return
	}
	signal.Ignore(unix.SIGTTOU) // which the system sends to a background process that does this
	_ = unix.IoctlSetPointerInt(int(t.tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
	signal.Reset(unix.SIGTTOU)
	t.lent = false
}
