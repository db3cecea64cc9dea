package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

func (a *app) fenceReset() *cobra.Command {
	var token int64
	var all bool
	cmd := &cobra.Command{
		Use:   "reset [OPTIONS] --token N RESOURCE | --all",
		Short: "Reset a mark that rejects every holder, so that the next holder can seal",
		Long: `Resets a mark that no holder can raise any more, because the lock has moved to another store, or because
its store has lost its history and grants smaller tokens than before. After the reset, every
earlier holder is rejected, and the next holder that seals is accepted. So first make sure that no process
works under the old lock.

The value of --token is the token that the error or "rowlock fence ls" shows. If the mark has another token by
now, the command changes nothing. The reset waits for transactions that have checked the mark.

With --all the command resets every mark in the namespace that --namespace names, or in all namespaces. Use
--all for a database that was restored from a backup: its marks would accept a holder from the time of the
backup.`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return a.noArgs(cmd, args)
			}
			return a.resource(cmd, args)
		},
	}
	cmd.Flags().Int64Var(&token, "token", 0, "the token that the error or fence ls shows")
	cmd.Flags().BoolVar(&all, "all", false, "reset every mark in the namespace of --namespace, or in all namespaces without that option")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && cmd.Flags().Changed("token"):
			return exit.Usagef("--token names one mark, and --all resets every mark: leave one of them out")
		case !all && token <= 0:
			return exit.Usagef("--token is missing or not above 0: write the token that \"rowlock fence ls --all\" shows")
		}
		if all {
			return a.resetAll(cmd.Context())
		}
		mark := fmt.Sprintf("the mark of %q", driver.Key{Namespace: a.namespace, Name: args[0]}.String())
		attrs := []slog.Attr{slog.String("namespace", a.namespace), slog.String("resource", args[0]), slog.Int64("token", token)}
		return a.reset(cmd.Context(), mark, fmt.Sprintf("%s, which had token %d,", mark, token), attrs, func(ctx context.Context, g *fence.Guard) error {
			return g.Reset(ctx, a.namespace, args[0], driver.Token(token))
		})
	}
	return cmd
}

// resetAll resets all marks of the namespace in --namespace, or of all namespaces without that option.
func (a *app) resetAll(ctx context.Context) error {
	which, attrs := "every mark", []slog.Attr(nil)
	if a.namespace != "" {
		which += fmt.Sprintf(" of namespace %q", a.namespace)
		attrs = append(attrs, slog.String("namespace", a.namespace))
	}
	return a.reset(ctx, which, which, attrs, func(ctx context.Context, g *fence.Guard) error {
		return g.ResetAll(ctx, a.namespace, a.namespace == "")
	})
}

// reset calls the function do, which resets marks. If that succeeds, it writes a message about the reset.
func (a *app) reset(ctx context.Context, what, which string, attrs []slog.Attr, do func(context.Context, *fence.Guard) error) error {
	return a.withMarks(ctx, limits.inspect, func(ctx context.Context, s *store.Store) error {
		if err := s.DB.PingContext(ctx); err != nil {
			return exit.Failf(exit.Unavailable, "connect: %w", err)
		}
		if err := do(ctx, s.Guard()); err != nil {
			return notReset(what, s.Flags(), err)
		}
		a.log.Say(terminal.Notice, "reset", which+" is reset: holders that sealed before are rejected, and the next holder that seals is accepted", attrs...)
		return nil
	})
}

// notReset adds an exit code to the error of a reset. The parameter ofStore contains the command-line options that name
// the store.
func notReset(what, ofStore string, err error) error {
	var other *fence.NoMarkError
	var schema *fence.SchemaError
	switch {
	case errors.As(err, &other):
		return exit.Failf(exit.NotHeld, "nothing is reset: %w", other)
	case errors.As(err, &schema):
		return exit.With(exit.Unavailable, err)
	case errors.Is(err, fence.ErrRetry):
		return exit.Failf(exit.Held, "nothing is reset: a transaction that has checked %s is still open (%w)", what, err)
	default:
		return exit.Failf(exit.Unknown, "reset %s: the database did not answer, so the mark may or may not be reset; look with: rowlock fence ls --all%s (%w)", what, ofStore, err)
	}
}

// resource checks that the command has one argument, and that the argument is a valid resource name.
func (a *app) resource(cmd *cobra.Command, args []string) error {
	a.hint = cmd.CommandPath() + " --help"
	switch {
	case len(args) == 0 || args[0] == "":
		return exit.Usagef("the resource is missing: %s --token N RESOURCE", cmd.CommandPath())
	case len(args) > 1:
		return exit.Usagef("want one resource, but %d were given: %s is the second", len(args), terminal.Quoted(args[1]))
	}
	return checkName("the resource", args[0], driver.MaxName)
}
