package fence

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements maps verbs to the statements of one dialect: "check" is the text of check.sql.
type statements map[string]string

// load reads every statement of sql/<dir>, and inserts the names of t quoted with quote.
func load(t sqltable.Table, dir, quote string) statements {
	return t.Statements(sqlFiles, "sql/"+dir, quote)
}
