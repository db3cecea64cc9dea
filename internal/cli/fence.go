package cli

import (
	"context"
	"database/sql"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

func (a *app) fenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fence ls|reset|prune",
		Short: "List and mend the marks by which data refuses stale holders",
		Long: `Lists and mends the marks of the fence. A mark says which holder of a lock has sealed a resource last;
whoever is not that holder is refused by the resource's own transactions. They are in the database of the
data: --store names that one. Programs set marks with the Go package fence; "rowlock run" does not.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.hint = cmd.CommandPath() + " --help"
			return usage("say which: fence ls, reset or prune")
		},
	}
	cmd.AddCommand(a.fenceLs(), a.fenceReset(), a.fencePrune())
	return cmd
}

// guard is the fence of the store.
func (s *store) guard() *fence.Guard {
	open := map[migrations.Dialect]func(*sql.DB, ...fence.Option) *fence.Guard{
		migrations.SQLite: fence.SQLite, migrations.Postgres: fence.Postgres, migrations.MySQL: fence.MySQL,
	}[s.at.dialect]
	return open(s.db, fence.Table(s.table.String()))
}

// withMarks is withStoreFor for what concerns marks.
func (a *app) withMarks(ctx context.Context, limit time.Duration, do func(context.Context, *store) error) error {
	at, err := a.location()
	if err == nil {
		err = at.refuseKeyValue("the marks of the fence are in the SQL database of the data that they guard, and %s has none: name that database")
	}
	if err != nil {
		return err
	}
	return a.withStoreFor(ctx, limit, do)
}

// checkName refuses what can be no namespace and no resource.
func checkName(what, s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) {
		return usage("%s: want at most %d bytes of UTF-8", what, most)
	}
	return nil
}
