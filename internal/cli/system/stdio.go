// Package system provides the command's files, variables and signals.
package system

import "os"

// Program is the name under which servers list the command's sessions, and the system its processes.
const Program = "rowlock"

// Stdio are the files that the system gives the command. The command that runs under a lock gets the same files,
// without a pipe in between.
type Stdio struct {
	In, Out, Err *os.File
	Env          Environment
}
