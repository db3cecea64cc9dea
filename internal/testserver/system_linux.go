package testserver

import (
	"fmt"
	"os"
	"syscall"
)

// serverAttributes make a server end with this process. The kernel sends the server the signal when this process has
// ended, even by SIGKILL.
func serverAttributes(as *account, death syscall.Signal) *syscall.SysProcAttr {
	a := stepAttributes(as)
	a.Pdeathsig = death
	return a
}

func stepAttributes(as *account) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if as != nil {
		a.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
	return a
}

// signalGroup signals a process that this process started, and all processes in its group.
func signalGroup(p *os.Process, s syscall.Signal) {
	if p != nil {
		_ = syscall.Kill(-p.Pid, s)
	}
}

// lock locks an open file exclusively. The lock ends with the process at the latest.
func lock(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

// memoryFolders returns the folder that is in memory, if it has room for all servers. In a container it may be tiny.
func memoryFolders() []string {
	const path, room = "/dev/shm", 2 << 30
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return nil
	}
	return []string{path}
}

func mount(path string, size int64) error {
	return syscall.Mount("rowlock", path, "tmpfs", 0, fmt.Sprintf("size=%d", size))
}

// unmount does nothing if no file system is mounted.
func unmount(path string) { _ = syscall.Unmount(path, syscall.MNT_DETACH) }
