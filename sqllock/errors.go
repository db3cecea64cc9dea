package sqllock

import "fmt"

// SchemaError says that the lease table is missing or older than this version of the library. The
// message names the command and the call that mend it.
type SchemaError struct {
	Table string
	Err   error // what the database said
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("sqllock: table %s is missing or out of date: run `rowlock migrate up`, or call migrations.Up: %v", e.Table, e.Err)
}

// Unwrap returns what the database said.
func (e *SchemaError) Unwrap() error { return e.Err }
