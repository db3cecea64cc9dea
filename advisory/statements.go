package advisory

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements are the statements by verb: "lock" is the text of lock.sql.
type statements map[string]string

// load reads every statement, with the sequence of t in place of the default one.
func load(t sqltable.Table) statements { return t.Statements(sqlFiles, "sql", `"`) }

// The statements that take a lock: at once, and in the server's queue.
const (
	try  = "lock"
	wait = "wait"
)

// verb is the statement that takes a lock of this kind.
func (o *options) verb(verb string, shared bool) string {
	if shared {
		verb += "_shared"
	}
	if o.noToken {
		verb += "_only"
	}
	return verb
}

// unlockVerb is the statement that takes it back.
func unlockVerb(shared bool) string {
	if shared {
		return "unlock_shared"
	}
	return "unlock"
}
