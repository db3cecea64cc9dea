package cli

import (
	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/cli/doctor"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqltable"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [OPTIONS]",
		Short: "Find problems of the store, and say how to fix them",
		Long: `Checks whether the store can keep what rowlock promises. It checks whether the store answers, the store's
version, its tables, the privileges of this user, and whether a pooler is in between. It checks which settings
may lose locks after a crash or a failover, active alarms, and the difference between the clocks of the store
and of this machine. doctor writes nothing to the store, and acquires no lock.

A problem breaks a promise, or prevents locks from being acquired: the exit code is 1. A warning weakens a
promise in a way that the page about the store describes, or is worth knowing: the exit code stays 0. If the
store does not reveal a setting, doctor reports nothing about it. If the store does not answer, the exit code
is 69.`,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		table, err := sqltable.Parse(a.table)
		if err != nil {
			return exit.Usagef("--table: %w", err)
		}
		at, err := a.location()
		if err != nil {
			return err
		}
		r, err := doctor.Examine(cmd.Context(), at, table, a.namespace)
		if err != nil {
			return err
		}
		a.code = r.ExitCode()
		if asJSON {
			return terminal.WriteJSON(a.std.Out, r)
		}
		return r.Write(a.std.Out)
	}
	return cmd
}
