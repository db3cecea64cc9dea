package view

import (
	"fmt"
	"log/slog"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Sentence returns a sentence about the state of the lock, its holder, its times, its last tick, its waiters and its
// note.
func (v Lock) Sentence() string {
	name := fmt.Sprintf("%q", v.Status.Key.String())
	ticked := ""
	if v.Done != "" {
		ticked = fmt.Sprintf(", tick %q is done", v.Done)
	}
	tail := ticked
	switch {
	case v.Waiters == 1:
		tail += ", 1 process waits"
	case v.Waiters > 1:
		tail += fmt.Sprintf(", %d processes wait", v.Waiters)
	}
	if v.Token != 0 {
		tail += fmt.Sprintf(" (token %d)", v.Token)
	}
	if v.Note != "" {
		tail += ": " + terminal.Note(v.Note)
	}
	age, expires := v.age(), v.Status.ExpiresIn
	switch v.Status.State {
	case driver.StateHeld:
		if v.ends != "" {
			return fmt.Sprintf("%s is held by %s%s, until it is released or its %s ends%s", name, v.by(), v.heldFor(), v.ends, tail)
		}
		return fmt.Sprintf("%s is held by %s%s, lease ends in %s unless renewed%s", name, v.by(), v.heldFor(), terminal.Span(expires), tail)
	case driver.StatePaused:
		return fmt.Sprintf("%s is paused by %s%s, until it is resumed%s", name, terminal.Cell(v.Holder), v.heldFor(), tail)
	case driver.StateClosed:
		return fmt.Sprintf("%s is closed, free in %s, last held by %s, granted %s ago%s", name, terminal.Span(v.Status.FreeIn), terminal.Cell(v.Holder), age, tail)
	case driver.StateExpired:
		return fmt.Sprintf("%s is free: the lease of %s, granted %s ago, expired %s ago without release%s", name, terminal.Cell(v.Holder), age, terminal.Span(-expires), tail)
	default:
		if v.nameless || v.forgets {
			return name + " is free" + ticked
		}
		if v.Token == 0 {
			return name + " is free, and was never held"
		}
		return fmt.Sprintf("%s is free, last held by %s, granted %s ago%s", name, terminal.Cell(v.Holder), age, tail)
	}
}

// by returns the part of a sentence that names the holder and the number of readers.
func (v Lock) by() string {
	holder := terminal.Cell(v.Holder)
	switch {
	case v.Readers == 1:
		return "the reader " + holder
	case v.Readers > 1:
		return fmt.Sprintf("%d readers, one of them %s", v.Readers, holder)
	default:
		return holder
	}
}

// heldFor returns the part of a sentence that says for how long the lock has been held, or for how long its session has
// existed. It returns an empty text if the time is unknown.
func (v Lock) heldFor() string {
	switch {
	case v.Age == nil:
		return ""
	case v.nameless:
		return ", connected for " + terminal.Span(v.Status.Age)
	default:
		return " for " + terminal.Span(v.Status.Age)
	}
}

// Attrs returns log attributes that describe the holder of the lock, for log collectors.
func (v Lock) Attrs() []slog.Attr {
	return []slog.Attr{
		slog.String("namespace", v.Namespace), slog.String("name", v.Name), slog.String("state", v.State),
		slog.String("holder", v.Holder), slog.String("note", v.Note), slog.Int64("token", v.Token),
	}
}
