package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

// leastInterval is the smallest value of --interval, which limits the load on the store.
const leastInterval = 100 * time.Millisecond

// watch calls the functions list and show every interval until ctx ends or a signal interrupts the process. If the
// first list fails, watch returns the error. If a later list fails, watch tries again after the interval.
func (a *app) watch(ctx context.Context, interval time.Duration, list func(context.Context, *store.Store) ([]view.Lock, error), show func([]view.Lock) error) error {
	s, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for first, away := true, false; ; first = false {
		inner, cancel := context.WithTimeout(ctx, limits.inspect)
		views, err := list(inner, s)
		cancel()
		switch {
		case err != nil && first, ctx.Err() != nil:
			return s.Explain(err)
		case err != nil:
			if !away {
				a.log.Say(terminal.Warn, "unavailable", "the locks cannot be listed now; the list continues when the store answers again: "+terminal.Plain(s.Explain(err)))
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

// lister returns the function that writes each list of --watch.
func (a *app) lister(asJSON, namespaces bool, interval time.Duration) func([]view.Lock) error {
	if asJSON {
		return view.NewChanges(a.std.Out).Show
	}
	onScreen, before := terminal.Width(a.std.Out) > 0, false
	return func(views []view.Lock) error {
		var page strings.Builder
		switch {
		case onScreen:
			fmt.Fprintf(&page, "%severy %s until interrupted, last at %s\n\n", terminal.ClearScreen, interval, time.Now().Format(time.TimeOnly))
		case before:
			page.WriteString("\n")
		}
		before = true
		_ = view.WriteTable(&page, views, namespaces) // writing to memory does not fail
		return terminal.Write(a.std.Out, page.String())
	}
}
