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

// app is one run of the command.
type app struct {
	std system.Stdio
	log *terminal.Messages

	store, namespace, table, format string
	quiet                           bool

	started bool   // the command line was parsed
	hint    string // the command line that shows the matching help
	code    int    // the exit code if there is no error
}

// newWaiting returns the display of the holder for whom a command waits. It draws an updated line only if messages
// are sentences.
func (a *app) newWaiting(limit time.Duration) *terminal.Waiting {
	if a.format == terminal.FormatText && !a.quiet {
		return terminal.NewWaiting(a.log, a.std.Err, limit)
	}
	return terminal.NewWaiting(a.log, nil, limit)
}

// These constants bound the command's calls of a store, except the wait for a lock. A store that hangs is reported.
const (
	inspectTimeout = 10 * time.Second
	migrateTimeout = time.Minute
	pruneTimeout   = 10 * time.Minute // each of its transactions has a separate limit
)

// location returns the store that --store names, or the default store.
func (a *app) location() (store.Location, error) { return store.Locate(a.store, a.std.Env) }

// openUnmigrated opens the store without touching the schema.
func (a *app) openUnmigrated(ctx context.Context) (*store.Store, error) {
	table, err := sqltable.Parse(a.table)
	if err != nil {
		return nil, exit.Usagef("--table: %w", err)
	}
	at, err := a.location()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, at, table)
}

// openStore opens the store that the flags name. It migrates a SQLite file that contains no tables of other programs.
func (a *app) openStore(ctx context.Context) (*store.Store, error) {
	s, err := a.openUnmigrated(ctx)
	if err != nil {
		return nil, err
	}
	if a.store == "" && terminal.Width(a.std.Err) == 0 {
		a.log.Say(terminal.Warn, "local store", fmt.Sprintf("no --store and no ROWLOCK_STORE: locks are kept in %s, and exclude only %s (--store=%s, if that is meant)",
			s.At.Shown, s.At.Excludes(), store.Local), slog.String("store", s.At.Shown))
	}
	if s.At.Dialect == migrations.SQLite {
		ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
		defer cancel()
		if err := s.PrepareSQLite(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// withStore opens the store for one operation that takes only a moment, and explains errors.
func (a *app) withStore(ctx context.Context, do func(context.Context, *store.Store) error) error {
	return a.withStoreFor(ctx, inspectTimeout, do)
}

// withStoreFor is withStore with a limit.
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
		return exit.Usagef("%s takes no argument, and %s is one", cmd.CommandPath(), terminal.Quoted(args[0]))
	}
	return nil
}

// key returns the lock that the only argument names.
func (a *app) key(cmd *cobra.Command, args []string) error {
	a.hint = cmd.CommandPath() + " --help"
	switch {
	case len(args) == 0 || args[0] == "":
		return exit.Usagef("the name of the lock is missing: %s NAME", cmd.CommandPath())
	case len(args) > 1:
		return exit.Usagef("one name, and not %d: %s is the second", len(args), terminal.Quoted(args[1]))
	}
	return checkName("NAME", args[0], driver.MaxName)
}

// checkName refuses an invalid namespace or resource name.
func checkName(what, s string, most int) error {
	if len(s) > most || !utf8.ValidString(s) {
		return exit.Usagef("%s: want at most %d bytes of UTF-8", what, most)
	}
	return nil
}
