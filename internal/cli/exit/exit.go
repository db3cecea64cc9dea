// Package exit defines the exit codes of the command, and errors that contain an exit code.
package exit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// The exit codes of the command. The codes 64 to 78 come from sysexits(3), and 124 to 127 from timeout(1)
// and the shell. Each of the outcomes held, lost, unknown and unavailable has its own code.
const (
	OK            = 0
	NotHeld       = 1
	Problem       = 1  // doctor has found a problem
	Usage         = 64 // EX_USAGE
	Unavailable   = 69 // EX_UNAVAILABLE
	Unknown       = 74 // EX_IOERR
	Held          = 75 // EX_TEMPFAIL
	Lost          = 79 // the first code that sysexits(3) does not use
	Done          = 80
	Timeout       = 124
	Internal      = 125
	NotExecutable = 126
	NotFound      = 127
	Signal        = 128 // the exit code is this number plus the number of the signal
)

// Codes lists the meaning of each exit code. "rowlock help exit-codes", the manual page and docs/command.md show this
// table.
var Codes = []struct {
	Code    string
	Meaning string
}{
	{"0", "success; run: the command's own code; status, wait: the lock is free"},
	{"1", "release, resume, fence reset: no lock, pause or mark has that token; doctor: a problem"},
	{"64", "usage: an argument or an option cannot work"},
	{"69", "unavailable: the store cannot be reached, or a table is missing; run: --fence could not seal"},
	{"74", "unknown: the store did not answer; the request may have taken effect"},
	{"75", "held: another process holds the lock (run: -E changes this code) or the mark, or the lock is paused"},
	{"79", "lost: the lock was lost while the command ran, and the command was stopped; check, sql check: the lock is lost, or another run has sealed"},
	{"80", "done: the command has already succeeded for the tick of --once or --once-per"},
	{"124", "timeout: the command was stopped after --timeout"},
	{"125", "internal: an error of rowlock itself"},
	{"126", "the command cannot be executed"},
	{"127", "the command was not found"},
	{"128+N", "signal N killed the command, or stopped rowlock while it waited"},
}

// Table returns the table Codes as lines of a help text.
func Table() string {
	var b strings.Builder
	for _, c := range Codes {
		fmt.Fprintf(&b, "  %-6s %s\n", c.Code, c.Meaning)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Error wraps an error, and contains the exit code of the command.
type Error struct {
	code int
	err  error
}

// Error returns the text of the wrapped error.
func (f *Error) Error() string { return f.err.Error() }

// Unwrap returns the wrapped error.
func (f *Error) Unwrap() error { return f.err }

// With wraps err in an Error. The parameter code is the exit code of the command.
func With(code int, err error) error { return &Error{code, err} }

// Failf returns an error with a text that is formatted as by fmt.Errorf. The parameter code is the exit code of the
// command.
func Failf(code int, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// Usagef returns an error for an invalid command line.
func Usagef(format string, args ...any) error { return Failf(Usage, format, args...) }

// OfAcquire adds the exit code to an error of rowlock.New or Acquire. Any error that is not one of the library's known
// outcomes reports an invalid option or name, and gets the code Usage.
func OfAcquire(err error) error {
	switch {
	case errors.Is(err, rowlock.ErrUnavailable):
		return With(Unavailable, err)
	case errors.Is(err, rowlock.ErrHeld):
		return With(Held, err)
	case errors.Is(err, rowlock.ErrDone):
		return With(Done, err)
	case errors.Is(err, context.Canceled):
		return With(Internal, err)
	default:
		return With(Usage, inFlags(err))
	}
}

// inFlags replaces the library's option at the start of an error text with the equivalent flag of the command.
func inFlags(err error) error {
	m := regexp.MustCompile(`^rowlock: (TTL|Wait|MinHold|MaxHold|HandoverDelay)\(([^)]*)\): `).FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	flag := map[string]string{"TTL": "ttl", "Wait": "wait", "MinHold": "min-hold", "MaxHold": "max-hold", "HandoverDelay": "handover-delay"}[m[1]]
	return fmt.Errorf("--%s=%s: %s", flag, m[2], strings.TrimPrefix(err.Error(), m[0]))
}

// OfInspect adds the exit code to an error of a [driver.Operator]. The parameter unanswered is the exit code for a
// request that the store did not answer. Such a request may have taken effect.
func OfInspect(err error, unanswered int) error {
	var held *driver.Held
	switch {
	case errors.As(err, &held):
		return With(Held, err)
	case errors.Is(err, driver.ErrNotHeld):
		return With(NotHeld, err)
	case driver.IsNotApplied(err):
		return With(Unavailable, err)
	default:
		return With(unanswered, err)
	}
}

// OfPause adds the exit code to an error of Pause or Resume.
func OfPause(err error) error {
	switch {
	case errors.Is(err, rowlock.ErrUnknown):
		return With(Unknown, err)
	case errors.Is(err, rowlock.ErrLost):
		return With(Lost, err)
	case errors.Is(err, rowlock.ErrNotPaused):
		return With(NotHeld, err)
	default:
		return OfAcquire(err)
	}
}

// Code returns the exit code for err.
func Code(err error) int {
	var f *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &f):
		return f.code
	default:
		return Internal
	}
}
