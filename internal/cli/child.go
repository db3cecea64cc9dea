package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// lookUp finds the command before anything is locked for it.
func lookUp(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, checkInterpreter(path)
	case errors.Is(err, exec.ErrDot):
		return "", fail(exitNotFound, "%s: it is in the current directory, and only a relative entry of PATH says so; write its path", quoted(command))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", fail(exitNotFound, "%s: command not found", quoted(command))
	default:
		return "", fail(exitNotExecutable, "%s: cannot be executed: %w", quoted(command), reason(err))
	}
}

// command is how path is started: with rowlock's own files, not pipes to them, and without a shell.
func command(path string, argv, env []string, std Stdio) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: std.In, Stdout: std.Out, Stderr: std.Err}
}

// startFailure is the error of a command that was found and could not be started.
func startFailure(path string, err error) error {
	code := exitNotExecutable
	hint := ""
	switch {
	case errors.Is(err, fs.ErrNotExist): // of a script: its interpreter
		code = exitNotFound
	case isNoProgram(err):
		hint = " (a script needs a first line such as #!/bin/sh)"
	case isNoRoom(err):
		code = exitInternal
	}
	return fail(code, "%s: cannot be executed: %w%s", quoted(path), reason(err), hint)
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
