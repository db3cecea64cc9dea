package testserver

import (
	"fmt"
	"os"
	"syscall"
)

// serverAttributes returns attributes for starting a server. With them, the kernel sends the server the signal death
// when this process ends, even if SIGKILL ends it.
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

// lock locks the open file f exclusively. The kernel releases the lock when this process ends.
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

// memoryFolders returns the path of the in-memory file system if it has room for all servers.
// In a container it may be tiny.
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
