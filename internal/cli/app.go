package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
)

// app holds the global options and the state of one run of the command.
type app struct {
	std system.Stdio
	log *terminal.Messages

	store, namespace, table, format string
	quiet                           bool

	started bool   // true after the command line was parsed
	hint    string // the command line that shows the matching help
	code    int    // the exit code if there is no error
}

// newWaiting returns the display that shows who holds the lock while a command waits. On a terminal the display
// includes a line that changes every second, but only with --log-format=text and without --quiet.
func (a *app) newWaiting(limit time.Duration) *terminal.Waiting {
	if a.format == terminal.FormatText && !a.quiet {
		return terminal.NewWaiting(a.log, a.std.Err, limit)
	}
	return terminal.NewWaiting(a.log, nil, limit)
}

// limits contains the time limits for calls to the store. If the store does not answer in time, the command reports an
// unavailable store. The wait for a lock has no such limit. A test may shorten the limits.
var limits = struct {
	inspect, migrate time.Duration
	prune            time.Duration // for the whole command; each transaction of a prune also has its own limit
}{10 * time.Second, time.Minute, 10 * time.Minute}

// location returns the location of the store that --store names, or of the default store.
func (a *app) location() (store.Location, error) { return store.Locate(a.store, a.std.Env) }

// openUnmigrated opens the store, and neither creates nor checks its tables.
func (a *app) openUnmigrated(ctx context.Context) (*store.Store, error) {
	table, err := sqltable.Parse(a.table)
	if err != nil {
		return nil, exit.Usagef("--table: %w", err)
	}
	at, err := a.location()
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, at, table)
	if err != nil {
		return nil, err
	}
	s.Exits = a.std.Exits
	return s, nil
}

// openStore opens the store that the flags name. If the store is a SQLite file without tables of other programs,
// openStore migrates the file.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	s, err := a.openUnmigrated(ctx)
	if err != nil {
		return nil, err
	}
	if a.store == "" && terminal.Width(a.std.Err) == 0 {
		a.log.Say(terminal.Warn, "local store", fmt.Sprintf("neither --store nor ROWLOCK_STORE is set: locks are kept in %s, and exclude only %s (to hide this message: --store=%s)",
			s.At.Shown, s.At.Excludes(), store.Local), slog.String("store", s.At.Shown))
	}
	if s.At.Dialect == migrations.SQLite {
		ctx, cancel := context.WithTimeout(ctx, limits.inspect)
		defer cancel()
		if err := s.PrepareSQLite(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// withStore opens the store, calls the function do with the time limit limits.inspect, and closes the store. It adds
// the store and a hint to errors.
func (a *app) withStore(ctx context.Context, do func(context.Context, *store.Store) error) error {
	return a.withStoreFor(ctx, limits.inspect, do)
}

// withStoreFor is like withStore, but the parameter limit sets the time limit.
func (a *app) withStoreFor(ctx context.Context, limit time.Duration, do func(context.Context, *store.Store) error) error {
	s, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.Explain(do(ctx, s))
}

func (a *app) noArgs(cmd *cobra.Command, args []string) error {
	a.hint = cmd.CommandPath() + " --help"
	if len(args) > 0 {
		return exit.Usagef("%s takes no arguments, but %s was given", cmd.CommandPath(), terminal.Quoted(args[0]))
	}
	return nil
}

// key checks that the command has one argument, and that the argument is a valid lock name.
func (a *app) key(cmd *cobra.Command, args []string) error {
	a.hint = cmd.CommandPath() + " --help"
	switch {
	case len(args) == 0 || args[0] == "":
		return exit.Usagef("the name of the lock is missing: %s NAME", cmd.CommandPath())
	case len(args) > 1:
		return exit.Usagef("want one name, but %d were given: %s is the second", len(args), terminal.Quoted(args[1]))
	}
	return checkName("NAME", args[0], driver.MaxName)
}

// checkName returns a usage error if the text s is not UTF-8, or is longer than limit bytes. The parameter what is the
// name of the argument for the error.
func checkName(what, s string, limit int) error {
	if len(s) > limit || !utf8.ValidString(s) {
		return exit.Usagef("%s: want at most %d bytes of UTF-8", what, limit)
	}
	return nil
}
