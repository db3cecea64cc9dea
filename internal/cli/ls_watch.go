package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// leastInterval keeps a list from being all that a store does.
const leastInterval = 100 * time.Millisecond

// watch lists again and again until ctx ends or the process is interrupted. A store that is away after the first
// list is waited for.
func (a *app) watch(ctx context.Context, interval time.Duration, list func(context.Context, *store) ([]lockView, error), show func([]lockView) error) error {
	s, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for first, away := true, false; ; first = false {
		inner, cancel := context.WithTimeout(ctx, inspectTimeout)
		views, err := list(inner, s)
		cancel()
		switch {
		case err != nil && first, ctx.Err() != nil:
			return s.explain(err)
		case err != nil:
			if !away {
				a.log.say(levelWarn, "unavailable", "the locks cannot be listed, and will be when that is over: "+plain(s.explain(err)))
			}
		default:
			if err := show(views); err != nil {
				return err
			}
		}
		away = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// lister returns what writes a list behind the one before.
func (a *app) lister(asJSON, namespaces bool, interval time.Duration) func([]lockView) error {
	if asJSON {
		c := changes{w: a.std.Out}
		return c.show
	}
	onScreen, before := screenWidth(a.std.Out) > 0, false
	return func(views []lockView) error {
		var page strings.Builder
		switch {
		case onScreen:
			fmt.Fprintf(&page, "%severy %s until interrupted, last at %s\n\n", clearScreen, interval, time.Now().Format(time.TimeOnly))
		case before:
			page.WriteString("\n")
		}
		before = true
		_ = writeTable(&page, views, namespaces) // memory
		return write(a.std.Out, page.String())
	}
}

// changes writes what became different from one list to the next.
type changes struct {
	w      io.Writer
	before map[driver.Key]lockView
}

// change is a lock and what happened to it.
type change struct {
	Time   time.Time `json:"time"`
	Change string    `json:"change"` // new, changed or gone
	lockView
}

func (c *changes) show(views []lockView) error {
	now := make(map[driver.Key]lockView, len(views))
	var lines strings.Builder
	out := json.NewEncoder(jsonWriter{&lines})
	out.SetEscapeHTML(false)
	tell := func(what string, v lockView) error { return out.Encode(change{time.Now(), what, v}) }
	for _, v := range views {
		was, known := c.before[v.status.Key]
		now[v.status.Key] = v
		var err error
		switch {
		case !known:
			err = tell("new", v)
		case was.State != v.State || was.Token != v.Token || was.Holder != v.Holder || was.Note != v.Note:
			err = tell("changed", v)
		}
		if err != nil {
			return err
		}
		delete(c.before, v.status.Key)
	}
	for _, v := range c.before {
		if err := tell("gone", v); err != nil {
			return err
		}
	}
	c.before = now
	return write(c.w, lines.String())
}

func write(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}
