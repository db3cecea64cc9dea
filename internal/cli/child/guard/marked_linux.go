package guard

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// killMarked kills the process groups of all processes that have the environment variable mark (NAME=value).
func killMarked(mark string) {
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
