package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/history"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

func (a *app) pruneCommand() *cobra.Command {
	var unused time.Duration
	cmd := &cobra.Command{
		Use:   "prune --unused DURATION",
		Short: "Forget the locks that nobody has held for a long time",
		Long: `Deletes the locks of every namespace that have been free for at least --unused, together with their history and
their last tick (rowlock run --once). So a job whose tick is deleted can run for that tick again.
Tokens still rise: every later grant has a larger token than all deleted locks. Use this for a table that fills
up with names that are used only once. etcd, ZooKeeper and Redis delete such locks themselves, but keep a tick
until you prune it.`,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().Var(durationValue{&unused, false}, "unused", "for how long nobody must have held a lock, such as 30d")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("unused") {
			return exit.Usagef("--unused is missing: write for how long nobody must have held a lock, such as --unused 30d")
		}
		return a.withStoreFor(cmd.Context(), limits.prune, func(ctx context.Context, s *store.Store) error {
			n, err := s.Backend.Prune(ctx, unused)
			if err != nil {
				code := exit.Unavailable
				if !driver.IsNotApplied(err) {
					code = exit.Unknown
				}
				return exit.Failf(code, "%d locks forgotten before this error: %w", n, err)
			}
			if err := history.Of(s).Prune(ctx, unused); err != nil {
				a.log.Say(terminal.Warn, "history", "the history of the locks that were forgotten is still there: "+terminal.Plain(err))
			}
			a.log.Say(terminal.Notice, "pruned", fmt.Sprintf("%d locks forgotten", n), slog.Int("forgotten", n))
			return nil
		})
	}
	return cmd
}
