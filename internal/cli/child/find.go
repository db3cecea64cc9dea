// Package child starts a command in a process group of its own, or a job object on Windows, and sees to it that the whole
// group ends: also when rowlock is killed. It knows of no lock.
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

// Find finds the command before anything is locked for it.
func Find(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, checkInterpreter(path)
	case errors.Is(err, exec.ErrDot):
		return "", exit.Failf(exit.NotFound, "%s: it is in the current directory, and only a relative entry of PATH says so; write its path", terminal.Quoted(command))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", exit.Failf(exit.NotFound, "%s: command not found", terminal.Quoted(command))
	default:
		return "", exit.Failf(exit.NotExecutable, "%s: cannot be executed: %w", terminal.Quoted(command), reason(err))
	}
}

// command is how path is started: with rowlock's own files, not pipes to them, and without a shell.
func command(path string, argv, env []string, std system.Stdio) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: std.In, Stdout: std.Out, Stderr: std.Err}
}

// startFailure is the error of a command that was found and could not be started.
func startFailure(path string, err error) error {
	code := exit.NotExecutable
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist): // of a script: its interpreter
		code = exit.NotFound
	case isNoProgram(err):
		hint = " (a script needs a first line such as #!/bin/sh)"
	case isNoRoom(err):
		code = exit.Internal
	}
	return exit.Failf(code, "%s: cannot be executed: %w%s", terminal.Quoted(path), reason(err), hint)
}

// reason is what the system said, without the operation and the path, which the message has.
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
