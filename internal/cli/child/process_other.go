//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// adoptOrphans does nothing here: orphans go to the process 1, which waits for them.
func adoptOrphans() {}

// dieTogether does nothing here: only the guard kills the command when rowlock is killed.
func dieTogether(*syscall.SysProcAttr) {}

// ownProgram is the file of this program.
func ownProgram() (string, error) { return os.Executable() }

// killMarked does nothing here: the system shows no environment of other processes.
func killMarked(string) {}
