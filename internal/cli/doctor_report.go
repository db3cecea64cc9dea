package cli

import (
	"fmt"
	"io"
	"strings"
)

// How grave a finding is.
const (
	fine    = "ok"
	warning = "warning"
	problem = "problem"
)

// exitProblem is the exit code of a report with a problem.
const exitProblem = 1

// finding is what was found of one thing, and what to do about it.
type finding struct {
	Severity string `json:"severity"` // ok, warning or problem
	Check    string `json:"check"`
	Found    string `json:"found"`
	Do       string `json:"do"` // empty where nothing is to be done, or what was found says it
}

// report is what doctor says of a store.
type report struct {
	Store    string    `json:"store"` // without its password
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`

	store  *store
	silent bool // the store cannot be reached
}

func (r *report) add(severity, check, found, do string) {
	switch severity {
	case problem:
		r.Problems++
	case warning:
		r.Warnings++
	}
	r.Findings = append(r.Findings, finding{severity, check, found, do})
}

func (r *report) ok(check, found string)          { r.add(fine, check, found, "") }
func (r *report) warn(check, found, do string)    { r.add(warning, check, found, do) }
func (r *report) problem(check, found, do string) { r.add(problem, check, found, do) }

// unreachable ends the examination.
func (r *report) unreachable(err error) {
	r.silent = true
	r.problem("connection", plain(err), "see whether the server runs, and whether --store names it, its user and its password")
}

// has reports whether a check has found something as grave.
func (r *report) has(severity, check string) bool {
	for _, f := range r.Findings {
		if f.Severity == severity && f.Check == check {
			return true
		}
	}
	return false
}

func (r *report) exitCode() int {
	switch {
	case r.silent:
		return exitUnavailable
	case r.Problems > 0:
		return exitProblem
	default:
		return exitOK
	}
}

// write writes a line for each finding, and one for what to do.
func (r *report) write(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		severity := f.Severity
		if severity == problem {
			severity = "PROBLEM" // to be seen among many lines
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
