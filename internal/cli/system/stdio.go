// Package system provides rowlock's standard files, environment variables and signals.
package system

import "os"

// Program is the name under which database servers list rowlock's sessions, and the operating system lists rowlock's
// processes.
const Program = "rowlock"

// Stdio contains rowlock's stdin, stdout, stderr and environment. The command that runs under a lock inherits the same
// files, without a pipe in between.
type Stdio struct {
	In, Out, Err *os.File
	Env          Environment
}
