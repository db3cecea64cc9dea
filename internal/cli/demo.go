package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/internal/cli/demo"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqltable"
)

const demoWhere = `Without --store the demonstration uses its own SQLite file, and removes the file at the end. It ignores
ROWLOCK_STORE. With --store it uses that database, which must have the lock tables (rowlock migrate up). There
it creates a table rowlock_demo, drops the table at the end, and leaves behind a free lock named rowlock-demo.`

func (a *app) demoCommand() *cobra.Command {
	var noFence bool
	cmd := &cobra.Command{
		Use:   "demo [OPTIONS]",
		Short: "Show what a fence is for, in two seconds",
		Long: `Shows two workers that use the same lock. Worker A reads a balance, and is suspended for longer than its
lease lasts. Worker B acquires the lock and changes the balance. Worker A continues, and writes a balance that
it has computed from the old one. The fence makes the database reject this write. With --no-fence the database
accepts the write, and B's change is lost. On PostgreSQL, a script of A that runs in psql is rejected as well.

` + demoWhere,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&noFence, "no-fence", false, "show the damage without a fence")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.demonstrate(cmd, demo.Timeout, func(ctx context.Context, d *demo.Demo) error {
			return d.PausedWorker(ctx, !noFence)
		})
	}
	cmd.AddCommand(a.demoStockCommand())
	return cmd
}

// demonstrate opens the demonstration's store and calls the function show. Afterwards it drops the demonstration's
// table, even if a signal or the time limit has ended show.
func (a *app) demonstrate(cmd *cobra.Command, limit time.Duration, show func(context.Context, *demo.Demo) error) error {
	sig := system.CatchSignals()
	defer sig.Release()
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	ctx, interrupted := sig.During(ctx)
	err := a.demonstrateOn(ctx, cmd.Flags().Changed("store"), show)
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if got := interrupted(); got != nil {
		a.log.Say(terminal.Notice, "interrupted", fmt.Sprintf("%s: the demonstration was stopped", got))
		a.code = exit.Signal + system.Number(got)
		return nil
	}
	if err != nil && late {
		return exit.Failf(exit.Unavailable, "the demonstration was stopped after %s: %w", limit, err)
	}
	return err
}

func (a *app) demonstrateOn(ctx context.Context, given bool, show func(context.Context, *demo.Demo) error) (err error) {
	where := *a
	if given {
		at, err := a.location()
		if err != nil {
			return err
		}
		if err := at.RefuseKeyValue("a demonstration needs a table beside the locks, and %s has none: use lease rows (--store postgres://…), or leave --store out"); err != nil {
			return err
		}
		if at.Session != "" {
			return exit.Usagef("--store: a demonstration needs leases that expire, and a lock of %s does not expire: use lease rows (--store %s)", at.Session, at.LeaseRows())
		}
	}
	if !given {
		dir, err := os.MkdirTemp("", "rowlock-demo-")
		if err != nil {
			return exit.Failf(exit.Unavailable, "make a folder for the demonstration: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system empties its temporary folder anyway
		where.store, where.table, where.namespace = "sqlite:"+filepath.Join(dir, "demo.db"), sqltable.Default, ""
	}
	s, err := where.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := demo.Open(ctx, s, where.namespace, a.std.Out)
	if err != nil {
		return err
	}
	if given {
		fmt.Fprintf(d.Out, "In %s, in a table rowlock_demo that is dropped at the end.\n\n", s.At.Shown)
	}
	defer func() {
		failed := d.Drop(ctx)
		switch {
		case failed != nil && err == nil:
			err = failed
		case failed != nil:
			a.log.Say(terminal.Warn, "left over", terminal.Plain(failed))
		}
	}()
	return d.Explain(show(ctx, d))
}

func (a *app) demoStockCommand() *cobra.Command {
	workers, stock := 8, 100
	cmd := &cobra.Command{
		Use:   "stock [OPTIONS]",
		Short: "Show how many workers sell from one stock",
		Long: `Shows workers that sell pieces from one stock until nothing is left. Each sale happens under the lock and in
a fenced transaction. At the end the demonstration counts the sales.

` + demoWhere,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().IntVar(&workers, "workers", workers, fmt.Sprintf("the number of workers, from 1 to %d", demo.MostWorkers))
	cmd.Flags().IntVar(&stock, "stock", stock, fmt.Sprintf("the number of pieces in the stock, from 1 to %d", demo.MostPieces))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case workers < 1 || workers > demo.MostWorkers:
			return exit.Usagef("--workers=%d: write a number from 1 to %d", workers, demo.MostWorkers)
		case stock < 1 || stock > demo.MostPieces:
			return exit.Usagef("--stock=%d: write a number from 1 to %d", stock, demo.MostPieces)
		}
		return a.demonstrate(cmd, demo.StockTimeout, func(ctx context.Context, d *demo.Demo) error {
			return d.SellOut(ctx, workers, int64(stock))
		})
	}
	return cmd
}
