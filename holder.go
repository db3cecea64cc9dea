package rowlock

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// defaultHolder is the program's name, host and process id: what an operator needs to find the
// process that holds a lock.
func defaultHolder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	program := "unknown"
	if len(os.Args) > 0 && os.Args[0] != "" {
		program = filepath.Base(os.Args[0])
	}
	s := fmt.Sprintf("%s@%s:%d", program, host, os.Getpid())
	return strings.ToValidUTF8(s[:min(len(s), maxHolder)], "?")
}
