// Package child starts a command in a process group of its own, or in a job object on Windows. It makes sure that the
// whole group ends, even if rowlock is killed. It does not know about locks.
package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Find finds the command, before any lock is acquired for it.
func Find(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, checkInterpreter(path)
	case errors.Is(err, exec.ErrDot):
		return "", exit.Failf(exit.NotFound, "%s: found only through a relative entry of PATH; write its path", terminal.Quoted(command))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", exit.Failf(exit.NotFound, "%s: command not found", terminal.Quoted(command))
	default:
		return "", exit.Failf(exit.NotExecutable, "%s: cannot be executed: %w", terminal.Quoted(command), reason(err))
	}
}

// command returns the command for path. It gets rowlock's own files instead of pipes, and runs without a shell.
func command(path string, argv, env []string, std system.Stdio) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: std.In, Stdout: std.Out, Stderr: std.Err}
}

// startFailure returns the error of a command that was found and could not be started.
func startFailure(path string, err error) error {
	code := exit.NotExecutable
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist): // of a script: its interpreter is missing
		code = exit.NotFound
	case isNoProgram(err):
		hint = " (a script needs a first line such as #!/bin/sh)"
	case isNoRoom(err):
		code = exit.Internal
	}
	return exit.Failf(code, "%s: cannot be executed: %w%s", terminal.Quoted(path), reason(err), hint)
}

// reason returns the system's error without the operation and the path, which the message already has.
func reason(err error) error {
	var pathErr *os.PathError
	var execErr *exec.Error
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err
	case errors.As(err, &execErr):
		return execErr.Err
	default:
		return fmt.Errorf("start: %w", err)
	}
}
