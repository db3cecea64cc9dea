package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
)

func (a *app) fenceReset() *cobra.Command {
	var token int64
	cmd := &cobra.Command{
		Use:   "reset [OPTIONS] --token N RESOURCE",
		Short: "Give a resource whose mark no lease can raise any more to the next holder",
		Long: `Takes a mark back that no holder can raise any more: because the lock has moved to another store, because
its store has lost its history and grants smaller tokens than before, or because the data comes from a
backup. Everybody who sealed before is refused, and the next one to seal is taken, whoever that is. So
see to it first that nobody works under the old lock.

The token is the one that the error or "rowlock fence ls" shows: if the mark has another by now, nothing
is done. Transactions that have checked the mark are waited for.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.resource,
	}
	cmd.Flags().Int64Var(&token, "token", 0, "the token that was seen")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if token <= 0 {
			return usage("--token is missing or not above 0: write the one that \"rowlock fence ls\" shows")
		}
		if err := a.checkNamespace(); err != nil {
			return err
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store) error {
			if err := s.db.PingContext(ctx); err != nil {
				return fail(exitUnavailable, "connect: %w", err)
			}
			key := driver.Key{Namespace: a.namespace, Name: args[0]}
			if err := s.guard().Reset(ctx, key.Namespace, key.Name, driver.Token(token)); err != nil {
				return notReset(key, err)
			}
			a.log.say(levelNotice, "reset",
				fmt.Sprintf("the mark of %q is reset, which had token %d: who sealed before is refused, and the next one to seal is taken", key.String(), token),
				slog.String("namespace", key.Namespace), slog.String("resource", key.Name), slog.Int64("token", token))
			return nil
		})
	}
	return cmd
}

// notReset gives an error of Reset its code.
func notReset(key driver.Key, err error) error {
	var other *fence.NoMarkError
	var schema *fence.SchemaError
	switch {
	case errors.As(err, &other):
		return fail(exitNotHeld, "nothing is reset: %w", other)
	case errors.As(err, &schema):
		return &failure{exitUnavailable, err}
	case errors.Is(err, fence.ErrRetry):
		return fail(exitHeld, "%q is not reset: a transaction that has checked its mark is still open (%w)", key.String(), err)
	default:
		return fail(exitUnknown, "reset %q: no answer came, and it may have been done; look with: rowlock fence ls (%w)", key.String(), err)
	}
}

// resource checks the only argument.
func (a *app) resource(cmd *cobra.Command, args []string) error {
	a.hint = cmd.CommandPath() + " --help"
	switch {
	case len(args) == 0 || args[0] == "":
		return usage("the resource is missing: %s --token N RESOURCE", cmd.CommandPath())
	case len(args) > 1:
		return usage("one resource, and not %d: %s is the second", len(args), quoted(args[1]))
	}
	return checkName("the resource", args[0], driver.MaxName)
}
