package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [OPTIONS] NAME",
		Short: "Say whether a lock is free, and who has it",
		Long: `Says whether a lock is free, and who has it. The exit code is 0 if the lock can be had now, and 75 if it
is held, paused, or closed after it was held.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store) error {
			status, err := s.backend.Inspect(ctx, driver.Key{Namespace: a.namespace, Name: args[0]})
			if err != nil {
				return inspectFailure(err, exitUnavailable)
			}
			v := s.view(status)
			if !v.available() {
				a.code = exitHeld
			}
			if asJSON {
				return writeJSON(a.std.Out, v)
			}
			if _, err := fmt.Fprintln(a.std.Out, v.sentence()); err != nil {
				return fmt.Errorf("write to stdout: %w", err)
			}
			return nil
		})
	}
	return cmd
}

// sentence says all that is known of a lock.
func (v lockView) sentence() string {
	name := fmt.Sprintf("%q", v.status.Key.String())
	tail := ""
	if v.Token != 0 {
		tail = fmt.Sprintf(" (token %d)", v.Token)
	}
	if v.Note != "" {
		tail += ": " + note(v.Note)
	}
	age, expires := v.age(), v.status.ExpiresIn
	switch v.status.State {
	case driver.StateHeld:
		if v.ends != "" {
			return fmt.Sprintf("%s is held by %s%s, until it is released or its %s ends%s", name, cell(v.Holder), v.heldFor(), v.ends, tail)
		}
		return fmt.Sprintf("%s is held by %s%s, lease ends in %s unless renewed%s", name, cell(v.Holder), v.heldFor(), span(expires), tail)
	case driver.StatePaused:
		return fmt.Sprintf("%s is paused by %s%s, until it is resumed%s", name, cell(v.Holder), v.heldFor(), tail)
	case driver.StateClosed:
		return fmt.Sprintf("%s is closed, free in %s, last held by %s, granted %s ago%s", name, span(v.status.FreeIn), cell(v.Holder), age, tail)
	case driver.StateExpired:
		return fmt.Sprintf("%s is free: the lease of %s, granted %s ago, expired %s ago without release%s", name, cell(v.Holder), age, span(-expires), tail)
	default:
		if v.nameless || v.forgets {
			return name + " is free"
		}
		if v.Token == 0 {
			return name + " is free, and was never held"
		}
		return fmt.Sprintf("%s is free, last held by %s, granted %s ago%s", name, cell(v.Holder), age, tail)
	}
}

// heldFor says how long somebody has had the lock, or its session has been there, as far as that is known.
func (v lockView) heldFor() string {
	switch {
	case v.Age == nil:
		return ""
	case v.nameless:
		return ", connected for " + span(v.status.Age)
	default:
		return " for " + span(v.status.Age)
	}
}
