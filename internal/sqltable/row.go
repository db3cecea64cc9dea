package sqltable

import (
	"fmt"
	"strings"
)

// Placeholders in this module's SQL files for a table of the user and two of its columns.
const (
	rowTable = "guarded_row"
	rowKey   = "guarded_key"
	rowToken = "guarded_token"
)

// maxIdentifier is the longest identifier of the databases, in bytes.
const maxIdentifier = 64

// Row has the validated names of a table that stores a token in each row, of its key column, and of its token column.
type Row struct {
	table      Table
	key, token string
}

// ParseRow parses a table, as "table" or "schema.table", and two of its columns. Each name is a plain identifier:
// letters, digits and underscores, not starting with a digit, at most 64 bytes. The error names the field, as in
// "Row.Key".
func ParseRow(table, key, token string) (Row, error) {
	schema, name, qualified := strings.Cut(table, ".")
	if !qualified {
		schema, name = "", table
	}
	const want = "of letters, digits and underscores, not starting with a digit, at most %d bytes"
	if qualified && !identifier(schema) || !identifier(name) {
		return Row{}, fmt.Errorf("field Row.Table %q: want table or schema.table, each "+want, table, maxIdentifier)
	}
	for _, column := range []struct{ field, name string }{{"Key", key}, {"Token", token}} {
		if !identifier(column.name) {
			return Row{}, fmt.Errorf("field Row.%s %q: want one column's name "+want, column.field, column.name, maxIdentifier)
		}
	}
	return Row{table: Table{schema: schema, name: name}, key: key, token: token}, nil
}

func identifier(s string) bool { return len(s) <= maxIdentifier && part.MatchString(s) }

// Rewrite replaces the default names in a statement with these names, quoted with quote.
func (r Row) Rewrite(statement, quote string) string {
	return strings.NewReplacer(
		rowTable, r.table.qualify(r.table.name, "", quote),
		rowKey, quote+r.key+quote,
		rowToken, quote+r.token+quote,
	).Replace(statement)
}
