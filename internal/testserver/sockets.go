package testserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ownedBy returns a function that reports whether an address belongs to a socket of the process pid.
// It reads Linux's /proc.
func ownedBy(pid int) func(net.Addr) bool {
	return func(addr net.Addr) bool {
		table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
		local := fmt.Sprintf(":%04X", addr.(*net.TCPAddr).Port)
		for line := range strings.Lines(string(table)) {
			if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], local) && owns(pid, f[9]) {
				return true
			}
		}
		return false
	}
}

func owns(pid int, inode string) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if to, _ := os.Readlink(file); to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
