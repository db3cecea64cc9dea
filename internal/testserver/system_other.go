//go:build !linux

package testserver

import (
	"errors"
	"os"
	"syscall"
)

// Elsewhere servers run as ourselves, nothing ends them when we are killed, and no two launchers may install at once:
// good enough for a developer's own machine.

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
