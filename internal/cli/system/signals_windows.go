package system

import (
	"os"
	"syscall"
)

// forwarded goes to the command. Windows knows no other signals; TERM stands for the closing of the
// console.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

// ending is what ends the waiting for a lock.
var ending = forwarded

// ForwardStops does nothing: nothing suspends a program here.
func (s *Signals) ForwardStops() {}

// Suspend is never called: nothing suspends a program here.
func (s *Signals) Suspend() {}
