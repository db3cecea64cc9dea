package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [OPTIONS] NAME",
		Short: "Say whether a lock is free, and who holds it",
		Long: `Says whether a lock is free, who holds it, and which tick (rowlock run --once) was done last. The exit code is 0
if a process can acquire the lock now. The exit code is 75 if the lock is held, paused or closed. A closed lock is
not held, but no process can acquire it yet, for example because of --min-hold.`,
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			status, err := s.Backend.Inspect(ctx, driver.Key{Namespace: a.namespace, Name: args[0]})
			if err != nil {
				return exit.OfInspect(err, exit.Unavailable)
			}
			v := view.Of(s, status)
			if !v.Available() {
				a.code = exit.Held
			}
			if asJSON {
				return terminal.WriteJSON(a.std.Out, v)
			}
			if _, err := fmt.Fprintln(a.std.Out, v.Sentence()); err != nil {
				return fmt.Errorf("write to stdout: %w", err)
			}
			return nil
		})
	}
	return cmd
}
