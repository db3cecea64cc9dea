// Package testschema makes the tables of this module for a test.
package testschema

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/migrations"
)

// Install runs what migrations.Up would, without goose's bookkeeping and its turns, which take longer
// than most tests: one script, and no version table. A handle on Postgres must be one of pgx.
func Install(tb testing.TB, db *sql.DB, d migrations.Dialect, opts ...migrations.Option) {
	tb.Helper()
	script, err := migrations.SQL(d, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	statements, args := []string{script}, []any{}
	switch d {
	case migrations.Postgres:
		args = append(args, pgx.QueryExecModeSimpleProtocol) // which takes a script
	case migrations.MySQL:
		statements = strings.SplitAfter(strings.TrimSpace(script), ";\n")
	}
	for _, s := range statements {
		if _, err := db.ExecContext(tb.Context(), s, args...); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}
