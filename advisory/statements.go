package advisory

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements maps a verb to its statement: "lock" is the text of lock.sql.
type statements map[string]string

// load reads the statements, and replaces the default names of table and sequence with the names in t.
func load(t sqltable.Table) statements { return t.Statements(sqlFiles, "sql", `"`) }

// The verbs that acquire a lock: the statement try does not wait; the statement wait waits in the server's queue.
const (
	try  = "lock"
	wait = "wait"
)

// verb returns the verb of the statement that acquires a share, a lock without a token, or a lock with a token.
func (o *options) verb(verb string, shared bool) string {
	switch {
	case shared:
		return verb + "_shared"
	case o.NoToken:
		return verb + "_only"
	default:
		return verb
	}
}

// unlockVerb returns the verb of the statement that releases the lock.
func unlockVerb(shared bool) string {
	if shared {
		return "unlock_shared"
	}
	return "unlock"
}
