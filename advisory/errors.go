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

// SchemaError says that the sequence of tokens is missing. The message names the command and the
// call that mend it, and the option that does without.
type SchemaError struct {
	Sequence string
	Err      error // what the database said, if it was asked for a token
}

func (e *SchemaError) Error() string {
	s := fmt.Sprintf("the sequence %s is missing: run `rowlock migrate up`, or call migrations.Up, or do without tokens by advisory.NoToken", e.Sequence)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what the database said.
func (e *SchemaError) Unwrap() error { return e.Err }

// PoolerError says that the connection does not lead to one server process for as long as it lives,
// so that a session lock would be somebody else's with the next statement.
type PoolerError struct {
	Told uint32 // the server process that the connection was told of at its login; 0 if not known
	PID  uint32 // the server process that answered
	Then uint32 // the one that answered later, or to a second connection; 0 if only Told differs
}

func (e *PoolerError) Error() string {
	const mend = "use a DSN that reaches Postgres directly, or one of a pooler in session mode together with advisory.SessionPooler, or keep locks with sqllock, which needs neither"
	if e.Then == 0 {
		return fmt.Sprintf("a pooler stands before this Postgres (the login said process %d, and process %d answers): session locks do not exclude in transaction mode: %s", e.Told, e.PID, mend)
	}
	return fmt.Sprintf("the pooler before this Postgres shares server processes between connections (process %d, then %d), which is transaction mode: session locks do not exclude: %s", e.PID, e.Then, mend)
}

// plain reports whether err is the server's answer to a statement on a session that goes on.
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

// Over recognises that the session had ended before the statement: the server says so, or the driver
// has not sent it.
func (se *session) Over(err error) bool {
	return strings.HasPrefix(sqlerror.State(err), "57P") || pgconn.SafeToRetry(err) ||
		errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// explain turns an error into one of the answers of the driver contract, and says what was being
// done. Those that are one already stay as they are.
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
	case "42P01", "3F000": // undefined table, which a sequence is; undefined schema
		return driver.Permanent(&SchemaError{Sequence: table.String() + "_token", Err: err})
	case "42501":
		return driver.Permanent(fmt.Errorf("%w: the role lacks a privilege: see the documentation of package advisory", err))
	case "25006":
		return driver.Permanent(fmt.Errorf("%w: the server is read-only: locks need the primary", err))
	case "2200H":
		return driver.Permanent(fmt.Errorf("%w: the sequence of tokens has reached its end", err))
	default:
		return err
	}
}
