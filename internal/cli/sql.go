package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/sqltable"
)

func (a *app) sqlCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "sql check",
		Short:                 "Print SQL with which a script checks its lock in its transaction",
		Long:                  `Prints SQL for scripts that "rowlock run" has started.`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.hint = cmd.CommandPath() + " --help"
			return exit.Usagef("say which: sql check")
		},
	}
	cmd.AddCommand(a.sqlCheck())
	return cmd
}

// noStatement is printed in place of the statements if they cannot be printed. No database accepts it. Without it, a
// script that ignores the exit code would run without a check.
const noStatement = "rowlock sql check has failed;"

func (a *app) sqlCheck() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "check [OPTIONS] [RESOURCE]...",
		Short: "Print the statements that a script runs first in its transaction",
		Long: `Prints the statements that a script runs first in its transaction, inside a command that "rowlock run --fence" has
started. They fail if another run has sealed one of the resources since. If they succeed, no other run can seal them
until the transaction ends. Without RESOURCE, the resource is the name of the lock.

  check=$(rowlock sql check orders) &&
  psql "$DATABASE" -v ON_ERROR_STOP=1 --single-transaction -c "$check" -f report.sql

The statements are for the database of --data, or for that of --store. This subcommand does not connect to it. It asks
the run whether it still has its lock, and exits with 79 if not. After any error it prints a line that no database
accepts, so that a script that ignores the exit code does not write without a check.

The script must stop at the first error: psql needs ON_ERROR_STOP=1, sqlite3 needs -bail, and mysql must not run with
its option force. The transaction must contain the check and all writes.

  psql       --single-transaction, as above
  mysql      echo "START TRANSACTION; $check"; cat report.sql; echo "COMMIT;"
  sqlite3    echo "BEGIN IMMEDIATE; $check"; cat report.sql; echo "DELETE FROM rowlock_lease_fence_pass; COMMIT;"

Outside a transaction block the statements fail on Postgres, and protect nothing on the other databases.`,
		DisableFlagsInUseLine: true,
		Args:                  a.resourceArgs,
	}
	cmd.Flags().Var(textValue{&data}, "data", dataUsage)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := a.checkSQL(cmd.Context(), data, args)
		if err != nil {
			text = noStatement + "\n"
		}
		if _, failed := fmt.Fprint(a.std.Out, text); failed != nil && err == nil {
			return fmt.Errorf("write to stdout: %w", failed)
		}
		return err
	}
	return cmd
}

// checkSQL returns the statements of a check, each with a semicolon.
func (a *app) checkSQL(ctx context.Context, data string, resources []string) (string, error) {
	at, err := a.dataLocation(data)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limits.inspect)
	defer cancel()
	_, lease, err := a.inherited(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = lease.Release(ctx) }() // ends the connection to the run
	table, err := sqltable.Parse(a.table)
	if err != nil {
		return "", exit.Usagef("--table: %w", err)
	}
	s, err := store.Open(ctx, at, table) // does not connect
	if err != nil {
		return "", err
	}
	defer s.Close()
	statements, err := s.Guard().CheckSQL(lease, resources...)
	if err != nil {
		return "", exit.With(exit.Usage, err)
	}
	return strings.Join(statements, ";\n") + ";\n", nil
}
