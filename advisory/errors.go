package advisory

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// SchemaError reports that the sequence of tokens is missing. Its message tells how to create the sequence,
// and which option avoids the need for it.
type SchemaError struct {
	Sequence string
	Err      error // the error of the statement that needed the sequence; nil if the check of a new connection found it missing
}

func (e *SchemaError) Error() string {
	s := fmt.Sprintf("the sequence %s is missing: run `rowlock migrate up`, or call migrations.Up, or use the option advisory.NoToken", e.Sequence)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the database's error.
func (e *SchemaError) Unwrap() error { return e.Err }

// PoolerError reports that a pooler may run the statements of one connection in different server processes. Another
// client could then use the same server process, and so own the same locks.
type PoolerError struct {
	Told uint32 // the id of the server process that the login reported; 0 if unknown
	PID  uint32 // the id of the server process that answered
	Then uint32 // the id of the server process that answered a later statement or a second connection; 0 if no such process was seen
}

func (e *PoolerError) Error() string {
	const remedy = "use a DSN that reaches Postgres directly, or a pooler in session mode with the option advisory.SessionPooler, or use sqllock, which works with any pooler"
	if e.Then == 0 {
		return fmt.Sprintf("the connection goes through a pooler (the login reported server process %d, but process %d answers), and locks of sessions are unsafe behind a pooler in transaction mode: %s", e.Told, e.PID, remedy)
	}
	return fmt.Sprintf("the pooler is in transaction mode (it moved the session from server process %d to %d), where locks of sessions are unsafe: %s", e.PID, e.Then, remedy)
}

// plain reports whether err is an answer of the server that leaves the session usable.
func plain(ctx context.Context, c conn, err error) bool {
	state := sqlerror.State(err)
	if state == "" || ctx.Err() != nil || c.closed() {
		return false
	}
	for _, class := range []string{"08", "57P", "58", "XX"} {
		if strings.HasPrefix(state, class) {
			return false
		}
	}
	return true
}

// Over reports whether err means that the session had ended before the statement was sent.
func (se *session) Over(err error) bool {
	return strings.HasPrefix(sqlerror.State(err), "57P") || pgconn.SafeToRetry(err) ||
		errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// remedy adds to an error of a request what to do, and marks errors that a retry cannot fix as permanent.
func (s *store) remedy(err error) error {
	switch sqlerror.State(err) {
	case "42P01", "3F000": // undefined_table (also for a sequence) and invalid_schema_name
		return driver.Permanent(&SchemaError{Sequence: s.locks.Table.String() + "_token", Err: err})
	case "42501":
		return driver.Permanent(fmt.Errorf("%w: the role lacks a privilege: the documentation of package advisory lists the privileges that the role needs", err))
	case "25006":
		return driver.Permanent(fmt.Errorf("%w: the server is read-only: locks need the primary", err))
	case "2200H":
		return driver.Permanent(fmt.Errorf("%w: the sequence of tokens has reached its end", err))
	default:
		return err
	}
}
