package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Severities of findings.
const (
	fine    = "ok"
	warning = "warning"
	problem = "problem"
)

// finding is one result of a check, and the advice how to fix it.
type finding struct {
	Severity string `json:"severity"` // ok, warning or problem
	Check    string `json:"check"`
	Found    string `json:"found"`
	Do       string `json:"do"` // the advice; empty if there is nothing to do, or if the sentence already says what to do
}

// Report contains all findings of doctor about a store.
type Report struct {
	Store    string    `json:"store"` // without its password
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`

	store  *store.Store
	silent bool // true if the store cannot be reached
}

func (r *Report) add(severity, check, found, do string) {
	switch severity {
	case problem:
		r.Problems++
	case warning:
		r.Warnings++
	}
	r.Findings = append(r.Findings, finding{severity, check, found, do})
}

func (r *Report) ok(check, found string)          { r.add(fine, check, found, "") }
func (r *Report) warn(check, found, do string)    { r.add(warning, check, found, do) }
func (r *Report) problem(check, found, do string) { r.add(problem, check, found, do) }

// unreachable adds the problem that the store cannot be reached, and ends the examination.
func (r *Report) unreachable(err error) {
	r.silent = true
	r.problem("connection", terminal.Plain(err), "check that the server runs, and that --store has its address, user and password")
}

// has reports whether the check has added a finding of that severity.
func (r *Report) has(severity, check string) bool {
	for _, f := range r.Findings {
		if f.Severity == severity && f.Check == check {
			return true
		}
	}
	return false
}

// ExitCode returns the exit code of the command doctor for this report.
func (r *Report) ExitCode() int {
	switch {
	case r.silent:
		return exit.Unavailable
	case r.Problems > 0:
		return exit.Problem
	default:
		return exit.OK
	}
}

// Write writes one line for each finding, and a second line for its advice.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		severity := f.Severity
		if severity == problem {
			severity = "PROBLEM" // in capitals, so that a problem stands out among many lines
		}
		fmt.Fprintf(&b, "%-8s %-11s %s\n", severity, f.Check, f.Found)
		if f.Do != "" {
			fmt.Fprintf(&b, "%-20s do: %s\n", "", f.Do)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}
