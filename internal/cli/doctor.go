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
		Short: "Look for what is wrong with the store, and say what to do",
		Long: `Looks whether the store keeps what is promised of its locks: whether it answers, its version, tables and
privileges of this user, a pooler in between, what a crash or a failover may forget, alarms, and how far its
clock is from this machine's. Nothing is written to it, and no lock is taken.

A problem breaks a promise, or keeps locks from being taken at all: the exit code is 1. A warning weakens a
promise where the store's own page says so, or is worth knowing: the exit code stays 0. What a store does not
tell is not held against it. A store that gives no answer is 69.`,
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
