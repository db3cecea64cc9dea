package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
)

func (a *app) fenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fence ls|reset|prune",
		Short: "List, reset and delete the marks with which data rejects stale holders",
		Long: `Lists and resets the marks of the fence. A mark names the holder that sealed a resource last.
The transactions of the resource reject every other holder. Marks are in the database of the data, which
--store names. Marks are set by "rowlock run --fence" and by programs that use the Go package fence.`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.hint = cmd.CommandPath() + " --help"
			return exit.Usagef("say which: fence ls, reset or prune")
		},
	}
	cmd.AddCommand(a.fenceLs(), a.fenceReset(), a.fencePrune())
	return cmd
}

// withMarks is like withStoreFor, for operations on marks of the fence. It returns a usage error if the store has no
// tables.
func (a *app) withMarks(ctx context.Context, limit time.Duration, do func(context.Context, *store.Store) error) error {
	at, err := a.location()
	if err == nil {
		err = at.RefuseKeyValue("the marks of the fence are in the SQL database of the data that they guard, and %s has none: name that database")
	}
	if err != nil {
		return err
	}
	return a.withStoreFor(ctx, limit, do)
}
