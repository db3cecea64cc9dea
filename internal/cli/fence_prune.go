package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

func (a *app) fencePrune() *cobra.Command {
	var unused time.Duration
	cmd := &cobra.Command{
		Use:   "prune --unused DURATION",
		Short: "Delete the marks that no holder has set for a long time",
		Long: `Deletes the marks of every namespace that were sealed longer ago than --unused, which is at least 1d. Two
kinds of marks stay: the mark of a lease that is alive in the lock table of the same database, and a mark that
an open transaction has checked. If the lock is in another store, deleting the mark makes the fence reject the
present holder. That holder has to seal again.`,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().Var(durationValue{&unused, false}, "unused", "how long ago the last holder sealed, such as 30d")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case !cmd.Flags().Changed("unused"):
			return exit.Usagef("--unused is missing: write how long ago a mark must have been sealed, such as --unused 30d")
		case unused < fence.MinUnused:
			return exit.Usagef("--unused=%s: must be at least %s", terminal.Span(unused), terminal.Span(fence.MinUnused))
		}
		return a.withMarks(cmd.Context(), limits.prune, func(ctx context.Context, s *store.Store) error {
			n, err := s.Guard().Prune(ctx, unused)
			if err != nil {
				return exit.Failf(exit.Unavailable, "%d marks forgotten before this error: %w", n, err)
			}
			a.log.Say(terminal.Notice, "pruned", fmt.Sprintf("%d marks forgotten", n), slog.Int("forgotten", n))
			return nil
		})
	}
	return cmd
}
