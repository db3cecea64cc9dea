// Package view shows locks: as JSON, in a table, in a sentence, and as what has changed since the last list.
package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Lock is what ls and status show of a lock. Times are by the store's clock.
type Lock struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	State     string   `json:"state"` // free, held, expired, closed or paused
	Token     int64    `json:"token"`
	Holder    string   `json:"holder"`
	Note      string   `json:"note"`
	Age       *float64 `json:"age_seconds"`        // since the grant, or of the session where nothing else is known; null: not known
	ExpiresIn *float64 `json:"expires_in_seconds"` // until the lease ends unless renewed; null: a session's, which ends with it, or a pause
	FreeIn    float64  `json:"free_in_seconds"`    // until the lock can be granted

	Status   driver.Status `json:"-"` // of which it is made
	ends     string        // what it ends with, if nobody can see when; empty: with a time
	nameless bool          // the store knows neither names nor the past
	forgets  bool          // the store knows no past
}

// Of is what is shown of a lock in a store.
func Of(s *store.Store, status driver.Status) Lock {
	v := Lock{
		Namespace: status.Key.Namespace, Name: status.Key.Name, State: status.State.String(), Token: int64(status.Token),
		Holder: status.Holder, Note: status.Note,
		FreeIn: terminal.Seconds(status.FreeIn),
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

// Held is the lock as a refusal shows it; nil if nobody holds it.
func (v Lock) Held() *rowlock.HeldError {
	if v.Status.State != driver.StateHeld {
		return nil
	}
	return &rowlock.HeldError{Namespace: v.Namespace, Name: v.Name, Holder: v.Holder, Token: v.Status.Token}
}

// Available says whether the lock can be granted now.
func (v Lock) Available() bool {
	return v.Status.State != driver.StateHeld && v.Status.State != driver.StatePaused && v.Status.FreeIn <= 0
}

// WriteTable writes locks in columns, the namespace only where there may be several.
func WriteTable(w io.Writer, locks []Lock, namespaces bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"NAME", "STATE", "HOLDER", "AGE", "EXPIRES IN", "TOKEN", "NOTE"}
	if namespaces {
		head = append([]string{"NAMESPACE"}, head...)
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, v := range locks {
		cells := []string{terminal.Cell(v.Name), v.State, terminal.Cell(v.Holder), v.age(), v.end(), fmt.Sprint(v.Token), terminal.Note(v.Note)}
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

// age is how long ago the lock was granted, as far as that is known.
func (v Lock) age() string {
	if v.Age == nil {
		return "-"
	}
	return terminal.Span(v.Status.Age)
}

// end is when the lock ends to be taken.
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
