package migrations

import (
	"context"
	"database/sql"
	"embed"
	"path"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql functions/postgres/*.sql functions/mysql/*.sql
var migrationFiles embed.FS

// series is one series of migrations: that of the tables, or that of the functions. Each has its own version table.
type series struct {
	dialect   Dialect
	table     sqltable.Table
	functions bool
}

// rewrite replaces the default names in a statement with the names of s's tables and functions.
func (s series) rewrite(text string) string { return s.table.Rewrite(text, s.dialect.quote()) }

// each calls the function do for each migration of s, in the order of their numbers. It stops at the first error.
func (s series) each(do func(name, text string) error) error {
	folder := s.dialect.String()
	if s.functions {
		folder = path.Join("functions", folder)
	}
	entries, err := migrationFiles.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := migrationFiles.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		if err := do(e.Name(), s.rewrite(string(text))); err != nil {
			return err
		}
	}
	return nil
}

// versionTable returns the default name of the version table. No lease table may be called rowlock_lease_version, so no
// other table's name is derived from it.
func (s series) versionTable() string {
	if s.functions {
		return "rowlock_lease_version_fn"
	}
	return "rowlock_lease_version"
}

// madeVerb returns the key of the statement that tells whether the first migration was applied, by whatever tool.
func (s series) madeVerb() string {
	if s.functions {
		return "made_functions"
	}
	return "made"
}

// withoutFunctions returns an error if the functions exist.
func (s series) withoutFunctions(ctx context.Context, db *sql.DB) error {
	exist, err := inTime(ctx, db, s.dialect, func() (bool, error) { return versions{s}.exists(ctx, db, "made_functions", s.table.Name()) })
	if err == nil && exist {
		err = errFunctions
	}
	return err
}
