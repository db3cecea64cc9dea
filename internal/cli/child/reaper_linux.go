package child

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// gather is how long the reaper waits after a child has ended, so that it searches once for many children.
const gather = 50 * time.Millisecond

// reapOrphans waits for each adopted process that has ended, until the channel done is closed. An ended process that
// nobody waits for remains as a zombie, and a container has a limit of processes. The system signals SIGCHLD for each end, but merges
// signals, so the reaper searches for zombies. It leaves out the processes for which other code waits.
func reapOrphans(done <-chan struct{}, waitedFor func(pid int) bool) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		for _, pid := range zombies() {
			if !waitedFor(pid) {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
		select {
		case <-ended:
			time.Sleep(gather)
		case <-done:
			return
		}
	}
}

// zombies returns the children of this process that have ended.
func zombies() (pids []int) {
	self := strconv.Itoa(os.Getpid())
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // fails only for a malformed pattern
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process is gone
		}
		// The name, in parentheses, may contain anything. The state and the parent follow (proc_pid_stat(5)).
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 || string(fields[0]) != "Z" || string(fields[1]) != self {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
