package testserver

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Variable is the environment variable that holds the DSN of an engine's test server.
func Variable(engine string) string { return "ROWLOCK_TEST_" + strings.ToUpper(engine) }

// missing is the error for a server program that is not on this machine. Its remedy says how to install the program.
type missing struct {
	program string
	remedy  string
	cause   error
}

func (m *missing) Error() string {
	s := "no " + m.program + " on this machine"
	if m.cause != nil {
		s += ", and it could not be installed: " + m.cause.Error()
	}
	return s + "; " + m.remedy
}

func (m *missing) Unwrap() error { return m.cause }

// Missing reports whether err means that this machine does not have the server's program, and cannot install it.
func Missing(err error) bool {
	var m *missing
	return errors.As(err, &m)
}

// failure returns err with the engine, the step that failed, and the last lines of the server's log,
// if there are any.
func failure(engine, step string, err error, f *folder) error {
	var m *missing
	if errors.As(err, &m) {
		return fmt.Errorf("%s: %w, or set %s to the DSN of a server for tests", engine, err, Variable(engine))
	}
	text := ""
	if f != nil {
		if last := tail(f.log(), 12); last != "" {
			text = "\nthe end of its log:\n" + last
		}
	}
	return fmt.Errorf("%s: %s: %w; or set %s to the DSN of a server for tests%s", engine, step, err, Variable(engine), text)
}

// tail returns the last lines of a file, indented.
func tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return lastLines(string(b), lines)
}

func lastLines(s string, n int) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	all := strings.Split(s, "\n")
	return "    " + strings.Join(all[max(0, len(all)-n):], "\n    ")
}
