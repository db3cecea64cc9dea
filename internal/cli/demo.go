package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/sqltable"
)

const (
	// demoLock is the name of the lock of both demonstrations.
	demoLock = "rowlock-demo"
	// demoTimeout ends a demonstration on a store that hangs; it takes about 2 s.
	demoTimeout = 30 * time.Second
)

const demoWhere = `Without --store it uses a SQLite file of its own, which is removed at the end; ROWLOCK_STORE is not looked
at. With --store it uses that database, which must have the lock tables (rowlock migrate up): it creates
a table rowlock_demo there and drops it at the end, and leaves behind a free lock named rowlock-demo.

`

func (a *app) demoCommand() *cobra.Command {
	var noFence bool
	cmd := &cobra.Command{
		Use:   "demo [OPTIONS]",
		Short: "Show what a fence is for, in two seconds",
		Long: `Shows two workers on one lock. A reads a balance and is paused for longer than its lease lasts; B takes
over and changes the balance; A wakes and writes what it had computed from the old one. The fence makes
the database refuse that. With --no-fence nothing does, and B's change is lost.

` + demoWhere + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&noFence, "no-fence", false, "show the damage without a fence")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.demonstrate(cmd, demoTimeout, func(ctx context.Context, d *demo) error {
			return d.pausedWorker(ctx, !noFence)
		})
	}
	cmd.AddCommand(a.demoStockCommand())
	return cmd
}

// demonstrate runs show on the store of the demonstration, and cleans up after it: also when a
// signal or the time limit ends it.
func (a *app) demonstrate(cmd *cobra.Command, limit time.Duration, show func(context.Context, *demo) error) error {
	sig := catchSignals()
	defer sig.release()
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	ctx, interrupted := sig.during(ctx)
	err := a.demonstrateOn(ctx, cmd.Flags().Changed("store"), show)
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if got := interrupted(); got != nil {
		a.log.say(levelNotice, "interrupted", fmt.Sprintf("%s: the demonstration was stopped", got))
		a.code = exitSignal + number(got)
		return nil
	}
	if err != nil && late {
		return fail(exitUnavailable, "the demonstration was stopped after %s: %w", limit, err)
	}
	return err
}

func (a *app) demonstrateOn(ctx context.Context, given bool, show func(context.Context, *demo) error) (err error) {
	where := *a
	if given {
		at, err := a.location()
		if err != nil {
			return err
		}
		if err := at.refuseKeyValue("a demonstration needs a table beside the locks, and %s has none: use lease rows (--store postgres://…), or leave --store out"); err != nil {
			return err
		}
		if at.session != "" {
			return usage("--store: a demonstration is of leases that expire, and a lock of %s does not: use lease rows (--store %s)", at.session, at.leaseRows())
		}
	}
	if !given {
		dir, err := os.MkdirTemp("", "rowlock-demo-")
		if err != nil {
			return fail(exitUnavailable, "make a folder for the demonstration: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system's folder for such files is emptied anyway
		where.store, where.table, where.namespace = "sqlite:"+filepath.Join(dir, "demo.db"), sqltable.Default, ""
	}
	s, err := where.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	d, err := openDemo(ctx, s, where.namespace, a.std.Out)
	if err != nil {
		return err
	}
	if given {
		fmt.Fprintf(d.out, "In %s, in a table rowlock_demo that is dropped at the end.\n\n", s.at.shown)
	}
	defer func() {
		failed := d.drop(ctx)
		switch {
		case failed != nil && err == nil:
			err = failed
		case failed != nil:
			a.log.say(levelWarn, "left over", plain(failed))
		}
	}()
	return d.explain(show(ctx, d))
}

// explain gives an error of a lock, of the fence or of the database its code.
func (d *demo) explain(err error) error {
	var coded *failure
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, rowlock.ErrLost):
		return &failure{exitLost, err}
	case errors.Is(err, rowlock.ErrHeld):
		return &failure{exitHeld, err}
	default:
		return d.store.explain(&failure{exitUnavailable, err})
	}
}
