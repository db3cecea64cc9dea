//go:build unix

// Package guard contains the guard process of a command. If rowlock itself is killed, the guard kills the process group
// of the command, and removes the folder of the socket for the processes that inherit the lease.
//
// The guard is this program, started again with the argument [Argument]. It runs in the init function of this package
// and then exits. Of all packages whose imports are initialized, Go initializes the one with the smallest import path
// next. So the guard skips the initialization of almost all other packages, which takes longer than the rest of its
// start. This needs few imports: package strings, for example, would be initialized after many packages of the stores.
package guard

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"path"
	"strconv"
	"syscall"
	"time"
)

// Argument, as the only argument, starts this program as the guard of another rowlock process.
const Argument = "__guard"

// End ends each text that rowlock writes to the pipe: the environment variable of the command, the absolute path of the
// socket's folder, which is empty if there is no socket, and the id of the command's group. The first two are written
// before the command starts.
const End = "\x00"

func init() {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		be(os.Stdin)
		os.Exit(0)
	}
}

// be waits until rowlock closes the pipe or dies. Then it kills the group of the command and removes the folder of the
// socket. It ignores all signals that a process can ignore. Otherwise a service manager that sends TERM to all processes
// of a service would end the guard before the command has ended.
func be(pipe io.Reader) {
	signal.Ignore()
	text, _ := io.ReadAll(pipe)
	texts := bytes.Split(text, []byte(End))
	if len(texts) < 3 {
		return // rowlock died before it started the command, so there is no process to kill
	}
	switch group, err := strconv.Atoi(string(texts[2])); {
	case len(texts) == 3 || err != nil:
		killMarked(string(texts[0]), time.Sleep)
	case group > 1:
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
	remove(string(texts[1]))
}

// remove removes the folder of the socket. It removes no other file, and not a folder that has another file.
func remove(folder string) {
	if folder != "" {
		_ = os.Remove(path.Join(folder, "s"))
		_ = os.Remove(folder)
	}
}
