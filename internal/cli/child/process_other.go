//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// adoptOrphans does nothing on this system: process 1 adopts orphans and waits for them.
func adoptOrphans() {}

// reapOrphans does nothing on this system, because this process adopts no orphans.
func reapOrphans(<-chan struct{}, func(int) bool) {}

// dieTogether does nothing on this system: only the guard kills the command when rowlock is killed.
func dieTogether(*syscall.SysProcAttr) {}

// ownProgram returns the path of this program's file.
func ownProgram() (string, error) { return os.Executable() }
