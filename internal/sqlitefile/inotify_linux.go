package sqlitefile

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// inotifyEye implements the interface eye with notifications from the kernel:
// https://man7.org/linux/man-pages/man7/inotify.7.html
type inotifyEye struct {
	paths       [2]string
	events      *os.File
	interrupted atomic.Bool
}

func open(path string) eye {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil { // for example, the user already has 128 inotify instances, the default limit
		return newStatEye(path)
	}
	e := &inotifyEye{paths: [2]string{path, path + "-wal"}, events: os.NewFile(uintptr(fd), "inotify")}
	if !e.watch() {
		e.close()
		return newStatEye(path)
	}
	return e
}

// watch adds the database file and its write-ahead log, if they exist now. The call of watch must be repeated, because
// SQLite deletes the log when the last connection closes, and creates a new log with the next connection.
func (e *inotifyEye) watch() (ok bool) {
	raw, err := e.events.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		for _, path := range e.paths {
			if _, err := syscall.InotifyAddWatch(int(fd), path, syscall.IN_MODIFY); err == nil { //nolint:gosec // a file descriptor
				ok = true
			}
		}
	})
	return ok
}

func (e *inotifyEye) wait(until time.Time) bool {
	e.watch()
	if e.events.SetReadDeadline(until) != nil || e.interrupted.Load() {
		return false
	}
	var events [4096]byte
	n, err := e.events.Read(events[:])
	return err == nil && n > 0
}

func (e *inotifyEye) interrupt() {
	e.interrupted.Store(true)
	_ = e.events.SetReadDeadline(time.Unix(1, 0))
}

func (e *inotifyEye) close() { _ = e.events.Close() }
