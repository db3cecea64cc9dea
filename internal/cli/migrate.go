package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
	"github.com/rowlock/rowlock/migrations"
)

func (a *app) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate up|down|status|print",
		Short: "Create and change the lock table",
		Long: `Creates and changes the lock table. No other command does this, with one exception: a SQLite file without
tables of other programs gets the tables at its first use. Stores without tables (redis, etcd, zk) need no
migration. The Go package migrations contains the same migrations, for use with your own.

With --functions, it creates and drops the functions by which a SQL session uses the locks without rowlock
(PostgreSQL, MySQL and MariaDB).`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.hint = cmd.CommandPath() + " --help"
			return exit.Usagef("say which: migrate up, down, status or print")
		},
	}
	m := &migration{app: a}
	cmd.AddCommand(m.up(), m.down(), m.status(), m.print())
	for _, sub := range cmd.Commands() {
		sub.Flags().BoolVar(&m.functions, "functions", false, "migrate the functions for SQL sessions instead of the tables")
	}
	return cmd
}

// migration is "rowlock migrate" with its flags.
type migration struct {
	*app
	functions bool
}

// options returns the options for package migrations.
func (m *migration) options() []migrations.Option {
	opts := []migrations.Option{migrations.Table(m.table)}
	if m.functions {
		opts = append(opts, migrations.Functions())
	}
	return opts
}

// kind names in messages what is migrated.
func (m *migration) kind() string {
	if m.functions {
		return "functions"
	}
	return "tables"
}

// migrate is [app.migrate], and refuses --functions for a store that has no functions.
func (m *migration) migrate(ctx context.Context, do func(context.Context, *store.Store) error) error {
	at, err := m.location()
	if err == nil && m.functions && at.Dialect == migrations.SQLite {
		return exit.Usagef("--functions: there are functions for PostgreSQL, MySQL and MariaDB only, not for %s", at.Shown)
	}
	return m.app.migrate(ctx, do)
}

func (m *migration) up() *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Bring the lock table to the newest version", Args: m.noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.migrate(cmd.Context(), func(ctx context.Context, s *store.Store) error {
				return m.tell(ctx, s, "applied", func() error { return migrations.Up(ctx, s.DB, s.At.Dialect, m.options()...) })
			})
		},
	}
}

func (m *migration) down() *cobra.Command {
	var live, all bool
	cmd := &cobra.Command{
		Use: "down", Short: "Roll back the migration that was applied last (the rollback of the first one drops all locks)", Args: m.noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.migrate(cmd.Context(), func(ctx context.Context, s *store.Store) error {
				if !live && !m.functions {
					if err := refuseWhileHeld(ctx, s); err != nil {
						return err
					}
				}
				down := migrations.Down
				if all {
					down = migrations.DownAll
				}
				return m.tell(ctx, s, "rolled back", func() error { return down(ctx, s.DB, s.At.Dialect, m.options()...) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "roll back every migration, and so drop every table")
	cmd.Flags().BoolVar(&live, "live", false, "roll back even while locks are held")
	return cmd
}

// tell calls the function work, and writes a message for each migration that this function has applied or
// rolled back. The parameter did is the verb of the messages.
func (m *migration) tell(ctx context.Context, s *store.Store, did string, work func() error) error {
	applied := func() (map[string]bool, []string, error) {
		list, err := migrations.Status(ctx, s.DB, s.At.Dialect, m.options()...)
		is, names := map[string]bool{}, []string{}
		for _, one := range list {
			is[one.Name] = one.Applied
			names = append(names, one.Name)
		}
		return is, names, err
	}
	before, _, err := applied()
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	after, names, err := applied()
	if err != nil {
		return err
	}
	changed := false
	for _, name := range names {
		if before[name] != after[name] {
			changed = true
			m.log.Say(terminal.Notice, "migrated", fmt.Sprintf("%s %s in %s", did, name, s.At.Shown), slog.String("migration", name), slog.String("store", s.At.Shown))
		}
	}
	if !changed && did == "applied" {
		m.log.Say(terminal.Notice, "migrated", fmt.Sprintf("nothing to do: the %s of %s are up to date in %s", m.kind(), s.Table, s.At.Shown), slog.String("store", s.At.Shown))
	}
	return nil
}

// refuseWhileHeld returns an error if a lock is held or paused. It ignores a table that is missing or cannot be read.
func refuseWhileHeld(ctx context.Context, s *store.Store) error {
	kinds := []*store.Store{s}
	if s.At.Session != "" {
		kinds = append(kinds, &store.Store{Backend: s.Leases}) // the rollback also drops the table of lease rows, so its locks count as well
	}
	for _, of := range kinds {
		list, err := of.Backend.List(ctx, "", true)
		if err != nil && !driver.IsPermanent(err) {
			return exit.OfInspect(err, exit.Unavailable)
		}
		for _, status := range list {
			if status.State == driver.StateHeld || status.State == driver.StatePaused {
				return exit.Failf(exit.Held, "nothing is dropped while a lock is held or paused, unless --live is given: %s", view.Of(of, status).Sentence())
			}
		}
	}
	return nil
}

func (m *migration) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the migrations, and which of them were applied", Args: m.noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.migrate(cmd.Context(), func(ctx context.Context, s *store.Store) error {
				list, err := migrations.Status(ctx, s.DB, s.At.Dialect, m.options()...)
				if err != nil {
					return err
				}
				m.log.Say(terminal.Notice, "migrations", fmt.Sprintf("the migrations of %s in %s", s.Table, s.At.Shown), slog.String("store", s.At.Shown))
				t := tabwriter.NewWriter(m.std.Out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "MIGRATION\tAPPLIED")
				for _, one := range list {
					applied := "-"
					if one.Applied {
						applied = one.AppliedAt.Format("2006-01-02 15:04:05 UTC")
					}
					fmt.Fprintf(t, "%s\t%s\n", one.Name, applied)
				}
				return t.Flush()
			})
		},
	}
}

func (m *migration) print() *cobra.Command {
	var dialect migrations.Dialect
	cmd := &cobra.Command{
		Use: "print", Short: "Write the migrations as SQL to stdout, for other tools", Args: m.noArgs,
		RunE: func(*cobra.Command, []string) error {
			if dialect == 0 && m.store == "" {
				return exit.Usagef("the kind of database is missing: write --dialect=postgres, --dialect=mysql or --dialect=sqlite, or name the store")
			}
			if dialect == 0 {
				at, err := m.location()
				if err == nil {
					err = at.RefuseKeyValue(nothingToMigrate)
				}
				if err != nil {
					return err
				}
				dialect = at.Dialect
			}
			text, err := migrations.SQL(dialect, m.options()...)
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			_, err = io.WriteString(m.std.Out, text)
			return err
		},
	}
	cmd.Flags().TextVar(&dialect, "dialect", migrations.Dialect(0), "postgres, mysql or sqlite (default the kind of --store)")
	return cmd
}

// nothingToMigrate is the error text for a store without tables.
const nothingToMigrate = "%s keeps locks without tables: there is nothing to migrate, and nothing is needed before the first lock"

// migrate opens the store, whose tables may be missing, and calls the function do with a time limit.
func (a *app) migrate(ctx context.Context, do func(context.Context, *store.Store) error) error {
	at, err := a.location()
	if err == nil {
		err = at.RefuseKeyValue(nothingToMigrate)
	}
	if err != nil {
		return err
	}
	s, err := a.openUnmigrated(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, limits.migrate)
	defer cancel()
	// The connection has a shorter time limit than the migration, so that an unreachable server is reported sooner.
	connect, done := context.WithTimeout(ctx, limits.inspect)
	defer done()
	if err := s.DB.PingContext(connect); err != nil {
		return exit.Failf(exit.Unavailable, "connect to %s: %w", s.At.Shown, err)
	}
	err = do(ctx, s)
	if errors.Is(err, migrations.ErrMadeElsewhere) {
		return exit.Usagef("%w: to print the new migrations: rowlock migrate print%s (store %s)", err, s.Flags(), s.At.Shown)
	}
	if err != nil && exit.Code(err) == exit.Internal {
		return exit.Failf(exit.Unavailable, "%w (store %s)", err, s.At.Shown)
	}
	return err
}
