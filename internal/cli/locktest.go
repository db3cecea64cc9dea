package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/locktest/stdio"
)

func (a *app) locktestCommand() *cobra.Command {
	var cases []string
	cmd := &cobra.Command{
		Use:   "locktest [OPTIONS] -- PROGRAM [ARG…]",
		Short: "Check a client in another language",
		Long: `Checks whether a client in any language keeps the promises of the protocol. The command starts PROGRAM for
each client that a case needs. It writes requests as lines of JSON to the program's stdin, and reads the
replies from its stdout. docs/protocol.md describes the messages.

PROGRAM finds the address of the store in ROWLOCK_STORE. This is the address of a proxy before the store, which
loses replies and cuts the connection. So --store must name one server, and the store must accept connections
through another address. Use a database for tests that has the lock tables (rowlock migrate up). The cases
leave free locks behind.

The command prints one line for each case: ok, FAILED or not run. It exits with 1 if a case failed.`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.hint = cmd.CommandPath() + " --help"
			if len(args) == 0 {
				return exit.Usagef("the program is missing: %s -- PROGRAM", cmd.CommandPath())
			}
			h, err := stdio.New(a.store, args...)
			if err != nil {
				return exit.Usagef("--store: %w", err)
			}
			return a.locktest(cmd, h, cases)
		},
	}
	cmd.Flags().StringSliceVar(&cases, "case", nil, "run only the cases with these names")
	return cmd
}

func (a *app) locktest(cmd *cobra.Command, h *stdio.Harness, cases []string) error {
	sig := system.CatchSignals()
	defer sig.Release()
	ctx, interrupted := sig.During(cmd.Context())
	defer h.CloseAll() //nolint:errcheck // the cases have reported what does not end
	var sum stdio.Summary
	err := stdio.Check(ctx, h, func(r locktest.Result) {
		sum.Add(r)
		fmt.Fprintln(a.std.Out, resultLine(r))
	}, cases...)
	if got := interrupted(); got != nil {
		a.log.Say(terminal.Notice, "interrupted", fmt.Sprintf("%s: the run was stopped", got))
		a.code = exit.Signal + system.Number(got)
		return nil
	}
	switch {
	case sum == (stdio.Summary{}) && err != nil:
		return exit.With(exit.Unavailable, err)
	case sum == (stdio.Summary{}):
		return exit.Usagef("--case: no case has such a name")
	}
	fmt.Fprintln(a.std.Out, sum.String())
	if sum.Failed > 0 {
		a.code = exit.Problem
	}
	return nil
}

// resultLine returns the line for one case. A failed case has further lines with the broken promise.
func resultLine(r locktest.Result) string {
	var not *locktest.NotRun
	switch {
	case r.Err == nil:
		return fmt.Sprintf("ok       %s (%.1f s)", r.Case, r.Took.Seconds())
	case errors.As(r.Err, &not):
		return fmt.Sprintf("not run  %s: %s", r.Case, terminal.Plain(errors.New(not.Reason)))
	default:
		return "FAILED   " + r.Err.Error()
	}
}
