//go:build !linux

package testserver

import (
	"errors"
	"os"
	"syscall"
)

// serverAttributes and lock do nothing on systems other than Linux. Servers run under the account of this process, and
// continue to run if this process is killed. Two launchers may install the same server at the same time. These limits
// are acceptable on a developer's own machine.

func serverAttributes(*account, syscall.Signal) *syscall.SysProcAttr { return nil }

func stepAttributes(*account) *syscall.SysProcAttr { return nil }

func signalGroup(p *os.Process, s syscall.Signal) {
	if p != nil {
		_ = p.Signal(s)
	}
}

func lock(*os.File, bool) error { return nil }

func memoryFolders() []string { return nil }

func mount(string, int64) error { return errors.ErrUnsupported }

func unmount(string) {}
