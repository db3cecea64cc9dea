package cli

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spf13/cobra"
)

// errChecked makes a transaction that has passed its check roll back.
var errChecked = errors.New("checked")

func (a *app) checkCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "check [OPTIONS] [RESOURCE]...",
		Short: "Say whether this script still has the lock of its run",
		Long: `Says, inside a command that "rowlock run" has started, whether the run still has its lock, and was the last to
seal the resources. Without RESOURCE, the resource is the name of the lock. The exit code is 0 if both are true,
79 if one of them is false, and 69 if the run or the store does not answer. Stop at every code but 0.

The run asks its store before it answers. The marks of the resources are in the database of --data, or in that of
--store. Set ROWLOCK_STORE or ROWLOCK_DATA, because the command does not get the options of "rowlock run".

A check protects nothing by itself: another process can get the lock just after it. Use it to stop early, for
example between two steps of a script. To protect a write, make the check in the transaction of the write:
rowlock sql check.`,
		DisableFlagsInUseLine: true,
		Args:                  a.resourceArgs,
	}
	cmd.Flags().Var(textValue{&data}, "data", dataUsage)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), limits.inspect)
		defer cancel()
		trusted, lease, err := a.inherited(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = lease.Release(ctx) }() // ends the connection to the run
		s, err := a.openData(ctx, data)
		if err != nil {
			return err
		}
		defer s.Close()
		err = s.Guard().Tx(trusted, func(context.Context, *sql.Tx) error { return errChecked }, args...)
		if errors.Is(err, errChecked) {
			return nil
		}
		return s.Explain(ofCheck(err))
	}
	return cmd
}
