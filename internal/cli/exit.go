package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// The exit codes of the command. Those from 64 to 78 are of sysexits(3), 124 to 127 those of
// timeout(1) and the shell. Held, lost, unknown and unavailable are four different codes.
const (
	exitOK            = 0
	exitNotHeld       = 1
	exitUsage         = 64 // EX_USAGE
	exitUnavailable   = 69 // EX_UNAVAILABLE
	exitUnknown       = 74 // EX_IOERR
	exitHeld          = 75 // EX_TEMPFAIL
	exitLost          = 79 // the first that sysexits(3) leaves free
	exitTimeout       = 124
	exitInternal      = 125
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the number of the signal
)

// exitCodes is what the help says of them.
var exitCodes = []struct {
	code    string
	meaning string
}{
	{"0", "done; run: the command's own code; status, wait: the lock is free"},
	{"1", "release, resume, fence reset: there is no lock, no pause, or no mark, with that token; doctor: a problem"},
	{"64", "usage: an argument or option that cannot work"},
	{"69", "unavailable: the store could not be asked, or lacks a table"},
	{"74", "unknown: the store was asked and gave no answer; it may have been done"},
	{"75", "held: somebody else has the lock (run: -E changes this code), or the mark, or the lock is paused"},
	{"79", "lost: the lock was lost while the command ran, and the command was stopped"},
	{"124", "the command was stopped after --timeout"},
	{"125", "rowlock itself went wrong"},
	{"126", "the command cannot be executed"},
	{"127", "the command was not found"},
	{"128+N", "the command was killed by signal N, or rowlock was, while it waited"},
}

// exitCodeHelp is the table of exit codes for a help text.
func exitCodeHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %-6s %s\n", c.code, c.meaning)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// failure is an error with the exit code that it ends the command with.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

func usage(format string, args ...any) error { return fail(exitUsage, format, args...) }

// acquireFailure gives an error of New or Acquire its code. What is none of the outcomes is an
// option or a name that cannot work.
func acquireFailure(err error) error {
	switch {
	case errors.Is(err, rowlock.ErrUnavailable):
		return &failure{exitUnavailable, err}
	case errors.Is(err, rowlock.ErrHeld):
		return &failure{exitHeld, err}
	case errors.Is(err, context.Canceled):
		return &failure{exitInternal, err}
	default:
		return &failure{exitUsage, inFlags(err)}
	}
}

// ofLibrary is an option of the library as its errors write it.
var ofLibrary = regexp.MustCompile(`^rowlock: (TTL|Wait|MinHold|MaxHold|HandoverDelay)\(([^)]*)\): `)

// inFlags names the flag in place of the library's option.
func inFlags(err error) error {
	m := ofLibrary.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	flag := map[string]string{"TTL": "ttl", "Wait": "wait", "MinHold": "min-hold", "MaxHold": "max-hold", "HandoverDelay": "handover-delay"}[m[1]]
	return fmt.Errorf("--%s=%s: %s", flag, m[2], strings.TrimPrefix(err.Error(), m[0]))
}

// inspectFailure gives an error of a [driver.Operator] its code; unanswered is the one for a
// request that may have been carried out.
func inspectFailure(err error, unanswered int) error {
	var held *driver.Held
	switch {
	case errors.As(err, &held):
		return &failure{exitHeld, err}
	case errors.Is(err, driver.ErrNotHeld):
		return &failure{exitNotHeld, err}
	case driver.IsNotApplied(err):
		return &failure{exitUnavailable, err}
	default:
		return &failure{unanswered, err}
	}
}

// exitCode is the code that err ends the command with.
func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f):
		return f.code
	default:
		return exitInternal
	}
}
