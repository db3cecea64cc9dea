package mysqlock

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements maps a verb to its statement: "lock" is the text of lock.sql.
type statements map[string]string

// load reads the statements, and replaces the default names of the tables with the names in t.
func load(t sqltable.Table) statements { return t.Statements(sqlFiles, "sql", "`") }
