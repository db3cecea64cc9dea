package system

import (
	"os"
	"syscall"
)

// forwarded lists the signals that rowlock forwards to the command. Go programs receive no other signals on Windows.
// TERM means that the console is closed.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

// ending lists the signals that end the wait for a lock.
var ending = forwarded

// ForwardStops does nothing: Windows does not suspend programs.
func (s *Signals) ForwardStops() {}

// Suspend is never called: Windows does not suspend programs.
func (s *Signals) Suspend() {}
