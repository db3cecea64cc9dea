//go:build !linux

package testserver

import (
	"errors"
	"os"
	"syscall"
)

// On other systems servers run under this process's account, and continue to run if this process is killed. Two
// launchers may install at the same time. This is sufficient for a developer's own machine.

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
