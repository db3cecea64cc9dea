package sqltable

import (
	"fmt"
	"strings"
)

// In this module's SQL files, these placeholders stand for a table of the user and two columns of that table.
const (
	rowTable = "guarded_row"
	rowKey   = "guarded_key"
	rowToken = "guarded_token"
)

// maxIdentifier is the largest length of an identifier in any of the supported databases, in bytes.
const maxIdentifier = 64

// Row contains three validated names: the name of a table that stores a token in each row, and the names of its key
// column and its token column.
type Row struct {
	table      Table
	key, token string
}

// ParseRow parses the name of a table, as "table" or "schema.table", and the names of two of its columns. Each name
// must be a plain identifier: letters, digits and underscores, not starting with a digit, at most 64 bytes. The error
// names the field, as in "Row.Key".
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

func identifier(s string) bool { return len(s) <= maxIdentifier && plain(s) }

// Rewrite replaces the placeholders in a statement with the names in r, quoted with quote.
func (r Row) Rewrite(statement, quote string) string {
	return strings.NewReplacer(
		rowTable, r.table.qualify(r.table.name, "", quote),
		rowKey, quote+r.key+quote,
		rowToken, quote+r.token+quote,
	).Replace(statement)
}
