// Package testschema makes the tables of this module for a test.
package testschema

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/migrations"
)

// Install creates the tables of migrations.Up with one script. It does not use goose, whose version table
// and lock take longer than most tests. For Postgres, db must use pgx's driver.
func Install(tb testing.TB, db *sql.DB, d migrations.Dialect, opts ...migrations.Option) {
	tb.Helper()
	script, err := migrations.SQL(d, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	statements, args := []string{script}, []any{}
	switch d {
	case migrations.Postgres:
		args = append(args, pgx.QueryExecModeSimpleProtocol) // in this mode, pgx can run a script of several statements
	case migrations.MySQL:
		statements = delimited(strings.TrimSpace(script) + "\n")
	}
	for _, s := range statements {
		if _, err := db.ExecContext(tb.Context(), s, args...); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// delimited splits a script as the mysql client does: at each semicolon at the end of a line, or at the delimiter that
// the command DELIMITER sets.
func delimited(script string) (statements []string) {
	delimiter, statement := ";\n", ""
	for line := range strings.Lines(script) {
		if set, ok := strings.CutPrefix(line, "DELIMITER "); ok {
			delimiter = set
			continue
		}
		statement += line
		if whole, ok := strings.CutSuffix(statement, delimiter); ok {
			statements, statement = append(statements, whole), ""
		}
	}
	return statements
}
