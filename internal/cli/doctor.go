package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
)

// checkTimeout bounds each check, so that one that hangs leaves the others their turn.
const checkTimeout = 5 * time.Second

// check looks at one thing. What it returns is why it could not be found out; what it found is in the report.
type check struct {
	name string
	run  func(context.Context, *report) error
}

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
tell is not held against it. A store that gives no answer is 69.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.examine(cmd.Context())
		if err != nil {
			return err
		}
		a.code = r.exitCode()
		if asJSON {
			return writeJSON(a.std.Out, r)
		}
		return r.write(a.std.Out)
	}
	return cmd
}

// examine makes the report. Its error is that of a command line that cannot work.
func (a *app) examine(ctx context.Context) (*report, error) {
	table, err := sqltable.Parse(a.table)
	if err != nil {
		return nil, usage("--table: %w", err)
	}
	at, err := a.location()
	if err != nil {
		return nil, err
	}
	r := &report{Store: at.shown, Findings: []finding{}}
	r.ok("store", at.shown+": excludes "+at.excludes())
	if at.dialect == migrations.SQLite {
		return r, a.examineFile(ctx, r, at, table)
	}
	s, err := a.openUnmigrated(ctx)
	switch {
	case exitCode(err) == exitUnavailable:
		r.unreachable(err)
		return r, nil
	case err != nil:
		return nil, err
	}
	defer s.close()
	r.store = s
	r.runAll(ctx, append(s.checks(), s.encryptionCheck(), a.inspection()))
	return r, nil
}

// checks are those of the store's kind.
func (s *store) checks() []check {
	switch s.at.dialect {
	case migrations.Postgres:
		return s.postgresChecks()
	case migrations.MySQL:
		return s.mysqlChecks()
	default:
		return s.examined
	}
}

// runAll runs checks until one finds that the store cannot be reached.
func (r *report) runAll(ctx context.Context, checks []check) {
	for _, c := range checks {
		if r.silent {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		err := c.run(bounded, r)
		cancel()
		if err != nil {
			r.warn(c.name, "it could not be found out: "+plain(err), "")
		}
	}
}

// inspection reads the state of a lock that nobody has, with which a backend finds out how its store is set up.
func (a *app) inspection() check {
	return check{"locks", func(ctx context.Context, r *report) error {
		_, err := r.store.backend.Inspect(ctx, driver.Key{Namespace: a.namespace, Name: "doctor"})
		switch {
		case driver.IsPermanent(err) && (r.has(problem, "schema") || r.has(problem, "privileges")):
			return nil // which was told
		case err != nil && driver.IsPermanent(err):
			r.problem("locks", inCommandTerms.Replace(plain(err)), "")
			return nil
		case err != nil:
			r.unreachable(err)
			return nil
		}
		c := r.store.backend.Capabilities()
		r.ok("locks", fmt.Sprintf("they can be read; tokens: %s", c.Token))
		for _, text := range c.Warnings {
			r.warn("settings", inCommandTerms.Replace(text), "")
		}
		return nil
	}}
}
