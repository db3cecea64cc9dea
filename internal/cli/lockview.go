package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// lockView is what ls and status show of a lock. Times are by the store's clock.
type lockView struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	State     string   `json:"state"` // free, held, expired, closed or paused
	Token     int64    `json:"token"`
	Holder    string   `json:"holder"`
	Note      string   `json:"note"`
	Age       *float64 `json:"age_seconds"`        // since the grant, or of the session where nothing else is known; null: not known
	ExpiresIn *float64 `json:"expires_in_seconds"` // until the lease ends unless renewed; null: a session's, which ends with it, or a pause
	FreeIn    float64  `json:"free_in_seconds"`    // until the lock can be granted

	status   driver.Status
	ends     string // what it ends with, if nobody can see when; empty: with a time
	nameless bool   // the store knows neither names nor the past
	forgets  bool   // the store knows no past
}

// held is the lock as a refusal shows it; nil if nobody holds it.
func (v lockView) held() *rowlock.HeldError {
	if v.status.State != driver.StateHeld {
		return nil
	}
	return &rowlock.HeldError{Namespace: v.Namespace, Name: v.Name, Holder: v.Holder, Token: v.status.Token}
}

// view is what is shown of a lock in this store.
func (s *store) view(status driver.Status) lockView {
	v := lockView{
		Namespace: status.Key.Namespace, Name: status.Key.Name, State: status.State.String(), Token: int64(status.Token),
		Holder: status.Holder, Note: status.Note,
		FreeIn: inSeconds(status.FreeIn),
		status: status, ends: s.endsWith(), nameless: s.nameless(), forgets: s.backend.Capabilities().Forgets,
	}
	if age := inSeconds(status.Age); status.Age != 0 {
		v.Age = &age
	}
	if expires := inSeconds(status.ExpiresIn); v.ends == "" && status.State != driver.StatePaused {
		v.ExpiresIn = &expires
	}
	return v
}

// endsWith is what a lock ends with where nobody can see when it does.
func (s *store) endsWith() string {
	switch {
	case s.at.session != "":
		return "connection"
	case s.at.keyValue != nil && s.at.keyValue.untimed:
		return "session"
	default:
		return ""
	}
}

// nameless says whether the store keeps of a lock only that it is held, and by which connection.
func (s *store) nameless() bool { return s.backend.Capabilities().Anonymous }

// available says whether the lock can be granted now.
func (v lockView) available() bool {
	return v.status.State != driver.StateHeld && v.status.State != driver.StatePaused && v.status.FreeIn <= 0
}

// writeJSON writes v in a form for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// writeTable writes locks in columns, the namespace only where there may be several.
func writeTable(w io.Writer, locks []lockView, namespaces bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"NAME", "STATE", "HOLDER", "AGE", "EXPIRES IN", "TOKEN", "NOTE"}
	if namespaces {
		head = append([]string{"NAMESPACE"}, head...)
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, v := range locks {
		cells := []string{cell(v.Name), v.State, cell(v.Holder), v.age(), v.end(), fmt.Sprint(v.Token), note(v.Note)}
		if namespaces {
			cells = append([]string{cell(v.Namespace)}, cells...)
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// age is how long ago the lock was granted, as far as that is known.
func (v lockView) age() string {
	if v.Age == nil {
		return "-"
	}
	return span(v.status.Age)
}

// end is when the lock ends to be taken.
func (v lockView) end() string {
	switch v.status.State {
	case driver.StateHeld:
		if v.ends != "" {
			return "-"
		}
		return span(v.status.ExpiresIn)
	case driver.StateClosed:
		return "free in " + span(v.status.FreeIn)
	case driver.StateExpired:
		return span(-v.status.ExpiresIn) + " ago"
	default:
		return "-"
	}
}

// cell is a text in a table: quoted where it would break the table, or the terminal.
func cell(s string) string {
	if s == "" {
		return "-"
	}
	return quoted(s)
}

// note is the last cell of a line, in which spaces do no harm.
func note(s string) string {
	if q := quoted(s); s != "" && q != s && q != `"`+s+`"` {
		return q
	}
	return s
}

// inSeconds is a duration for programs, in whole microseconds: Duration.Seconds adds up to 2.2800000000000002.
func inSeconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// span is a duration for people: two units at most.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < day:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
}
