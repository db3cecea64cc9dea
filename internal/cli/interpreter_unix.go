//go:build unix

package cli

import (
	"bufio"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// checkInterpreter looks before anything is locked whether the interpreter of a script can be executed. Otherwise only the
// start would show it, and --min-hold would keep the lock closed for a command that never ran.
func checkInterpreter(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // a program need not be readable
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n') // the kernel reads no more
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return nil
	}
	switch err := unix.Access(words[0], unix.X_OK); err {
	case nil:
		return nil
	case unix.ENOENT:
		return fail(exitNotFound, "%s: its interpreter %s was not found", quoted(path), quoted(words[0]))
	default:
		return fail(exitNotExecutable, "%s: its interpreter %s cannot be executed: %w", quoted(path), quoted(words[0]), err)
	}
}
