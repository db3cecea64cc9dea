// Package system provides rowlock's standard files, environment variables and signals.
package system

import "os"

// Program is the name of rowlock in the session list of a database server, and in the process list of the operating
// system.
const Program = "rowlock"

// Stdio contains rowlock's stdin, stdout, stderr and environment. The command that runs under a lock inherits the same
// files, without a pipe in between.
type Stdio struct {
	In, Out, Err *os.File
	Env          Environment
	// Exits says that the process exits at the end of the command, so that the system closes the files and
	// ends the signal handlers of the process.
	Exits bool
}
