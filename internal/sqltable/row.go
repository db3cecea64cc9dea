package sqltable

import (
	"fmt"
	"strings"
)

// The names that stand for somebody else's table and two of its columns in the SQL files of this
// module.
const (
	rowTable = "guarded_row"
	rowKey   = "guarded_key"
	rowToken = "guarded_token"
)

// maxIdentifier is the longest that one of the databases takes.
const maxIdentifier = 64

// Row is the validated names of a table that keeps a token in each of its rows, of its key column
// and of its token column.
type Row struct {
	table      Table
	key, token string
}

// ParseRow reads a table, as "table" or "schema.table", and two columns of it. Each name is a plain
// identifier: letters, digits and underscores, not starting with a digit, at most 64 bytes. The
// error names the field, as in "Row.Key".
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

// Rewrite puts the names, quoted with quote, in place of the default ones in a statement.
func (r Row) Rewrite(statement, quote string) string {
	return strings.NewReplacer(
		rowTable, r.table.qualify(r.table.name, "", quote),
		rowKey, quote+r.key+quote,
		rowToken, quote+r.token+quote,
	).Replace(statement)
}
