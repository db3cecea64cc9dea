package mysqlock

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements maps a verb to its statement: "lock" is the text of lock.sql.
type statements map[string]string

// load reads the statements, with the names of t instead of the default ones.
func load(t sqltable.Table) statements { return t.Statements(sqlFiles, "sql", "`") }
