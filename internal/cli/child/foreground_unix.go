//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground manages which process group is in the foreground of the controlling terminal, if there is one. The command
// has its own process group, which starts in the background. If the command reads from the terminal, the system stops
// it (termios(3): SIGTTIN, SIGTTOU). rowlock then lends the terminal to the command: it makes the command's group the
// foreground group. rowlock does not lend the terminal before, because other programs may need it: for example less in
// "rowlock run … | less".
type Foreground struct {
	tty     *os.File
	lent    bool
	suspend bool // the suspend key was pressed, and rowlock has not been suspended since then
}

// Forward forwards a signal to the command.
func (t *Foreground) Forward(c *Process, sig os.Signal) {
	t.suspend = t.suspend || sig == unix.SIGTSTP
	c.signal(sig)
}

// ChildPaused is called after the signal sig has stopped the command. If the stop has nothing to do with the terminal,
// ChildPaused does nothing, because the process that stopped the command also has to continue it.
//
// If the user has pressed the suspend key, ChildPaused calls the function suspend, which suspends rowlock. The shell
// then gets the terminal back. While rowlock is suspended, no lease is renewed. When rowlock continues, suspend returns
// whether the lease is still trusted. Only then does ChildPaused continue the command. Without a trusted lease, the
// caller has to stop the command.
func (t *Foreground) ChildPaused(c *Process, sig syscall.Signal, suspend func() (trusted bool)) {
	if !t.open() {
		return
	}
	switch sig {
	case unix.SIGTTIN, unix.SIGTTOU:
		// Lending the terminal includes the signal CONT. If the user has pressed the suspend key, the signal TSTP is
		// pending in the command's group, and CONT would cancel it. So rowlock then does not lend the terminal, but
		// suspends itself as after TSTP.
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
		return // the caller will stop the command, because the lease was lost
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

// TakeBack makes rowlock's own group the foreground group of the terminal again, if rowlock has lent the terminal.
func (t *Foreground) TakeBack() {
	if !t.lent {
		return
	}
	signal.Ignore(unix.SIGTTOU) // the system sends SIGTTOU to a background process that changes the foreground group
	_ = unix.IoctlSetPointerInt(int(t.tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
	signal.Reset(unix.SIGTTOU)
	t.lent = false
}
