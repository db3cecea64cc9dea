// Package system is what the system gives the command: files, variables and signals.
package system

import "os"

// Program is the name under which the command's sessions are listed by a server, and its processes by the system.
const Program = "rowlock"

// Stdio is what the command is given by the system. The files are handed to the command that runs
// under a lock as they are, without a pipe in between.
type Stdio struct {
	In, Out, Err *os.File
	Env          Environment
}
