package guard

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// killMarked kills the process groups of all processes that have the environment variable mark (NAME=value).
func killMarked(mark string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		text, _ := os.ReadFile(file)
		if !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if group, err := syscall.Getpgid(pid); err == nil && group > 1 {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
}
