//go:build unix

// Package guard contains the guard process of a command. If rowlock itself is killed, the guard kills the process group
// of the command, and removes the folder of the socket for the processes that inherit the lease.
//
// The guard is this program, started again with the argument [Argument]. It runs in the init function of this package
// and then exits. Go initializes a package as soon as its imports are ready, and in the order of the import paths. So a
// guard skips the initialization of most packages of the stores. To keep it that way, this package imports only the
// standard library.
package guard

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Argument, as the first of two arguments, starts this program as the guard of another rowlock process. The second
// argument is the absolute path of the socket's folder, or empty if there is no socket.
const Argument = "__guard"

func init() {
	if len(os.Args) == 3 && os.Args[1] == Argument {
		be(os.Stdin)
		remove(os.Args[2])
		os.Exit(0)
	}
}

// be waits until rowlock closes the pipe or dies, and then kills the group of the command. It ignores all signals that
// a process can ignore. Otherwise a service manager that sends TERM to all processes of a service would end the guard
// before the command has ended.
func be(pipe io.Reader) {
	signal.Ignore()
	text, _ := io.ReadAll(pipe)
	mark, id, marked := strings.Cut(string(text), "\n")
	switch group, err := strconv.Atoi(strings.TrimSpace(id)); {
	case !marked: // rowlock died before it started the command, so there is no process to kill
	case err != nil:
		killMarked(mark)
	case group > 1:
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// remove removes the folder of the socket. It removes no other file, and not a folder that has another file.
func remove(folder string) {
	if folder != "" {
		_ = os.Remove(filepath.Join(folder, "s"))
		_ = os.Remove(folder)
	}
}
