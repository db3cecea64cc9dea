package guard

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// searchTime is how long the guard searches for processes of the command.
const searchTime = 4 * time.Second

// killMarked kills the process groups of all processes that have the environment variable mark (NAME=value). It searches
// several times, because one search can miss a process. A process that begins after the list of processes was read is not
// in the list. And while a process executes another program, its environment reads as empty for a moment.
func killMarked(mark string, sleep func(time.Duration)) {
	for pause := time.Millisecond; pause < searchTime; pause *= 2 {
		search(mark)
		sleep(pause)
	}
	search(mark)
}

func search(mark string) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		text, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group > 1 {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
}
