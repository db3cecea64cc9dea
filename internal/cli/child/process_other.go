//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// adoptOrphans does nothing here: process 1 adopts orphans and waits for them.
func adoptOrphans() {}

// dieTogether does nothing here: only the guard kills the command when rowlock is killed.
func dieTogether(*syscall.SysProcAttr) {}

// ownProgram returns the file of this program.
func ownProgram() (string, error) { return os.Executable() }

// killMarked does nothing here: the system does not show the environment of other processes.
func killMarked(string) {}
