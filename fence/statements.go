package fence

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements has the statements of one dialect, by verb: the statement for the verb "check" is the text of check.sql.
type statements map[string]string

// load reads every statement of sql/<dir>, and inserts the table names of t. The parameter quote is the character that
// quotes a name.
func load(t sqltable.Table, dir, quote string) statements {
	return t.Statements(sqlFiles, "sql/"+dir, quote)
}
