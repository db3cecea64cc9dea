// Package view formats the state of locks: as JSON, as a table, as a sentence, and as changes since the previous list.
package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Lock is the output of ls and status for one lock. Durations are measured by the store's clock.
type Lock struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	State     string   `json:"state"` // free, held, expired, closed or paused
	Token     int64    `json:"token"`
	Holder    string   `json:"holder"`
	Note      string   `json:"note"`
	Age       *float64 `json:"age_seconds"`        // the time since the grant, or the age of the session if the store does not report the time of the grant; null if both are unknown
	ExpiresIn *float64 `json:"expires_in_seconds"` // the time until the lease ends, unless it is renewed; null for a pause, and for a session lock, which ends with its session
	FreeIn    float64  `json:"free_in_seconds"`    // the time until the lock can be granted
	Readers   int      `json:"readers"`            // how many readers share the lock; 0 if the holder is a writer, or if the store does not count readers
	Done      string   `json:"done"`               // the last tick that is done; empty if there is none, and in a list of a store that keeps ticks apart from locks
	Waiters   int      `json:"waiters"`            // how many processes wait for the lock; 0 if the store keeps no record of them

	Status   driver.Status `json:"-"` // the backend's status, from which the other fields are computed
	ends     string        // the word for the session or connection with which the lock ends; empty if it ends at a known time
	nameless bool          // true if the store knows neither the names of locks nor earlier holders
	forgets  bool          // true if the store does not know earlier holders
}

// Of returns the Lock for a status that the backend of the store s has reported.
func Of(s *store.Store, status driver.Status) Lock {
	v := Lock{
		Namespace: status.Key.Namespace, Name: status.Key.Name, State: status.State.String(), Token: int64(status.Token),
		Holder: status.Holder, Note: status.Note,
		FreeIn: terminal.Seconds(status.FreeIn), Done: status.Done, Waiters: status.Waiters, Readers: status.Readers,
		Status: status, ends: s.EndsWith(), nameless: s.Nameless(), forgets: s.Backend.Capabilities().Forgets,
	}
	if age := terminal.Seconds(status.Age); status.Age != 0 {
		v.Age = &age
	}
	if expires := terminal.Seconds(status.ExpiresIn); v.ends == "" && status.State != driver.StatePaused {
		v.ExpiresIn = &expires
	}
	return v
}

// Held returns the error that Acquire would return for the lock in this state, or nil if no process holds the lock.
func (v Lock) Held() *rowlock.HeldError {
	if v.Status.State != driver.StateHeld {
		return nil
	}
	return &rowlock.HeldError{Namespace: v.Namespace, Name: v.Name, Holder: v.Holder, Token: v.Status.Token}
}

// Available reports whether the store would grant the lock now.
func (v Lock) Available() bool {
	return v.Status.State != driver.StateHeld && v.Status.State != driver.StatePaused && v.Status.FreeIn <= 0
}

// WriteTable writes locks in columns. It writes the namespace only if namespaces is true, and the columns READERS
// and WAITERS only if one of the locks has readers or waiters.
func WriteTable(w io.Writer, locks []Lock, namespaces bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"NAME", "STATE", "HOLDER", "AGE", "EXPIRES IN", "TOKEN", "NOTE"}
	waiting := slices.ContainsFunc(locks, func(v Lock) bool { return v.Waiters > 0 })
	shared := slices.ContainsFunc(locks, func(v Lock) bool { return v.Readers > 0 })
	if shared {
		head = slices.Insert(head, len(head)-1, "READERS")
	}
	if waiting {
		head = slices.Insert(head, len(head)-1, "WAITERS")
	}
	if namespaces {
		head = append([]string{"NAMESPACE"}, head...)
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, v := range locks {
		cells := []string{terminal.Cell(v.Name), v.State, terminal.Cell(v.Holder), v.age(), v.end(), fmt.Sprint(v.Token), terminal.Note(v.Note)}
		if shared {
			cells = slices.Insert(cells, len(cells)-1, fmt.Sprint(v.Readers))
		}
		if waiting {
			cells = slices.Insert(cells, len(cells)-1, fmt.Sprint(v.Waiters))
		}
		if namespaces {
			cells = append([]string{terminal.Cell(v.Namespace)}, cells...)
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// age returns the table cell for the time since the grant, or a dash if the time is unknown.
func (v Lock) age() string {
	if v.Age == nil {
		return "-"
	}
	return terminal.Span(v.Status.Age)
}

// end returns the table cell for the time after which the lock is free without a renewal.
func (v Lock) end() string {
	switch v.Status.State {
	case driver.StateHeld:
		if v.ends != "" {
			return "-"
		}
		return terminal.Span(v.Status.ExpiresIn)
	case driver.StateClosed:
		return "free in " + terminal.Span(v.Status.FreeIn)
	case driver.StateExpired:
		return terminal.Span(-v.Status.ExpiresIn) + " ago"
	default:
		return "-"
	}
}
