package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

func (a *app) lsCommand() *cobra.Command {
	var asJSON, all, everywhere, watch bool
	var which selection
	interval := 2 * time.Second
	cmd := &cobra.Command{
		Use:   "ls [OPTIONS]",
		Short: "List the locks",
		Long: `Lists the locks that are held, paused, expired without release, or closed. A closed lock is not held, but no
process can acquire it yet, for example because of --min-hold. With --all it also lists free locks.
EXPIRES IN is when a lock becomes free if its lease is not renewed.

Session locks (mysql-getlock, postgres-advisory) end with their connection, and EXPIRES IN is empty. Postgres
does not store the names of advisory locks. So for postgres-advisory the list contains every locked key of the
database, in every namespace, including the keys of other programs. AGE is then the age of the session. To ask
about a name, use "rowlock status". etcd and ZooKeeper report no AGE and no free locks, and ZooKeeper reports no
EXPIRES IN.

With --watch the list is written again every --interval until rowlock is interrupted. On a terminal the new
list replaces the previous list. With --json, each line is a JSON object for one lock. Its field "change" is new,
changed (in state, token, holder, note or readers), or gone from the list. Its field "time" is the time of the
change.`,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON array")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list free locks, too")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the locks of every namespace")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "write the list again every --interval")
	cmd.Flags().Var(durationValue{&interval, false}, "interval", "time between two lists of --watch")
	which.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := which.check(all); err != nil {
			return err
		}
		list := func(ctx context.Context, s *store.Store) ([]view.Lock, error) {
			list, err := s.Backend.List(ctx, a.namespace, everywhere || s.Nameless())
			if err != nil {
				return nil, exit.OfInspect(err, exit.Unavailable)
			}
			return which.of(s, list), nil
		}
		switch {
		case watch && interval < leastInterval:
			return exit.Usagef("--interval=%s: must be %s at least", interval, leastInterval)
		case watch:
			return a.watch(cmd.Context(), interval, list, a.lister(asJSON, everywhere, interval))
		case cmd.Flags().Changed("interval"):
			return exit.Usagef("--interval is for --watch")
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			views, err := list(ctx, s)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.WriteJSON(a.std.Out, views)
			}
			return view.WriteTable(a.std.Out, views, everywhere)
		})
	}
	return cmd
}
