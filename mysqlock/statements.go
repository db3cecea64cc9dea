package mysqlock

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements are the statements by verb: "lock" is the text of lock.sql.
type statements map[string]string

// load reads every statement, with the counter table of t in place of the default one.
func load(t sqltable.Table) statements { return t.Statements(sqlFiles, "sql", "`") }
