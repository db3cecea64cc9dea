// Package child starts a command in its own process group, or in a job object on Windows. The package makes sure that
// all processes of the group end, even if rowlock is killed. The package does not use locks.
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

// Find returns the path of the command, as exec.LookPath does, and checks that the file can be executed.
// rowlock calls Find before it acquires the lock.
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

// command returns an exec.Cmd that runs path without a shell. The process inherits rowlock's stdin, stdout and stderr,
// without pipes.
func command(path string, argv, env []string, std system.Stdio) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: std.In, Stdout: std.Out, Stderr: std.Err}
}

// startFailure adds an exit code and a hint to the error of a command that was found but could not be started.
func startFailure(path string, err error) error {
	code := exit.NotExecutable
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist): // the file exists, so the script's interpreter is missing
		code = exit.NotFound
	case isNoProgram(err):
		hint = " (a script needs a first line such as #!/bin/sh)"
	case isNoRoom(err):
		code = exit.Internal
	}
	return exit.Failf(code, "%s: cannot be executed: %w%s", terminal.Quoted(path), reason(err), hint)
}

// reason returns only the system's error from a path error, because the message already contains the path.
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
