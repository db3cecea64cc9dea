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
		Long: `Lists the locks that are held, that expired without release, or that are closed for now; with --all
those that are free, too. EXPIRES IN is when a lock ends unless it is renewed.

Locks of sessions (mysql-getlock, postgres-advisory) end with their connection, and EXPIRES IN is empty.
Postgres keeps no names of advisory locks: there every key of the database that is locked is listed, in
every namespace, those of other programs as well, and AGE is that of the session. Ask by name with
"rowlock status". etcd and ZooKeeper know neither AGE nor
locks that nobody holds, ZooKeeper no EXPIRES IN.

With --watch the list is written again every --interval until rowlock is interrupted: on a terminal in
place of the one before. With --json it is one JSON object a line for each lock that is new, changed (in
state, token, holder or note) or gone from the list, with the word in "change" and the time in "time".`,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON array")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list free locks, too")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "list the locks of every namespace")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "list again and again")
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
