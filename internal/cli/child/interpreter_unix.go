//go:build unix

package child

import (
	"bufio"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// checkInterpreter returns an error if the kernel cannot execute the file, or the interpreter of a script. rowlock
// calls it before it acquires the lock. Otherwise rowlock would acquire the lock for a command that cannot start. With
// --min-hold, nobody else could then acquire the lock for some time, although the command never ran.
func checkInterpreter(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a FIFO would block until a writer opens it
		return exit.Failf(exit.NotExecutable, "%s: cannot be executed: it is not a regular file", terminal.Quoted(path))
	}
	f, err := os.Open(path)
	if err != nil {
		// The file may be executable nevertheless: the kernel can execute a program that this user cannot read.
		return nil
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')        // the kernel reads at most this many bytes of the first line
	isBlank := func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' } // the kernel treats a carriage return as part of the path
	words := strings.FieldsFunc(strings.TrimPrefix(line, "#!"), isBlank)
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return nil
	}
	switch err := unix.Access(words[0], unix.X_OK); err {
	case nil:
		return nil
	case unix.ENOENT:
		return exit.Failf(exit.NotFound, "%s: its interpreter %s was not found", terminal.Quoted(path), terminal.Quoted(words[0]))
	default:
		return exit.Failf(exit.NotExecutable, "%s: its interpreter %s cannot be executed: %w", terminal.Quoted(path), terminal.Quoted(words[0]), err)
	}
}
