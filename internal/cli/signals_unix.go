//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// forwarded goes to the command's group.
var forwarded = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// ending is what ends the waiting for a lock.
var ending = []os.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT}

// forwardStops sends the suspend key of the terminal on to the command. While there is none,
// rowlock is suspended as any other program.
func (s *signals) forwardStops() { s.catch(unix.SIGTSTP) }
