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
	"github.com/rowlock/rowlock/internal/sqltable"
)

// SchemaError reports that the sequence of tokens is missing. The message names the command and the call that create
// the sequence, and the option that works without it.
type SchemaError struct {
	Sequence string
	Err      error // the database's error, if a token was requested
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

// PoolerError reports that the connection does not stay with one server process. Another client could use that process,
// and its session locks, with the next statement.
type PoolerError struct {
	Told uint32 // the server process that the login reported; 0 if unknown
	PID  uint32 // the server process that answered
	Then uint32 // the process that answered later, or on a second connection; 0 if only Told differs
}

func (e *PoolerError) Error() string {
	const remedy = "use a DSN that reaches Postgres directly, or a pooler in session mode with the option advisory.SessionPooler, or use sqllock, which works with any pooler"
	if e.Then == 0 {
		return fmt.Sprintf("the connection goes through a pooler (the login reported server process %d, but process %d answers), and session locks do not exclude in transaction mode: %s", e.Told, e.PID, remedy)
	}
	return fmt.Sprintf("the pooler is in transaction mode (it moved the session from server process %d to %d), where session locks do not exclude: %s", e.PID, e.Then, remedy)
}

// plain reports whether err is the server's answer to a statement, and the session continues.
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

// Over reports whether the session had ended before the statement was sent, according to the server or the driver.
func (se *session) Over(err error) bool {
	return strings.HasPrefix(sqlerror.State(err), "57P") || pgconn.SafeToRetry(err) ||
		errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// explain turns an error into an error of the driver contract, and adds the operation. It returns errors of the
// contract unchanged.
func explain(ctx context.Context, table sqltable.Table, operation string, key driver.Key, err error) error {
	var held *driver.Held
	if err == nil || errors.Is(err, driver.ErrNotHeld) || errors.As(err, &held) {
		return err
	}
	if key.Name != "" {
		operation = fmt.Sprintf("%s %q", operation, key)
	}
	err = fmt.Errorf("advisory: %s: %w", operation, err)
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if driver.IsNotApplied(err) {
		return err
	}
	switch sqlerror.State(err) {
	case "42P01", "3F000": // undefined table (a sequence is one); undefined schema
		return driver.Permanent(&SchemaError{Sequence: table.String() + "_token", Err: err})
	case "42501":
		return driver.Permanent(fmt.Errorf("%w: the role lacks a privilege: the documentation of package advisory lists what it needs", err))
	case "25006":
		return driver.Permanent(fmt.Errorf("%w: the server is read-only: locks need the primary", err))
	case "2200H":
		return driver.Permanent(fmt.Errorf("%w: the sequence of tokens has reached its end", err))
	default:
		return err
	}
}
