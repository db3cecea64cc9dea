package postgres

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// lockNotAvailable is the SQLSTATE after lock_timeout has expired.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const lockNotAvailable = "55P03"

// transient reports whether the server undid the statement and a retry may succeed: after a serialization failure, a
// deadlock, or an expired lock_timeout.
func transient(err error) bool {
	switch sqlerror.State(err) {
	case "40001", "40P01", lockNotAvailable:
		return true
	default:
		return false
	}
}

// classify marks err as the driver contract requires: as permanent, as not applied, or not at all if the effect is
// unknown.
func (p *Backend) classify(ctx context.Context, operation string, key driver.Key, err error) error {
	if sqlbase.Settled(err) {
		return err
	}
	err = sqlbase.Describe(ctx, operation, key, err)
	if driver.IsNotApplied(err) {
		return err
	}
	state := sqlerror.State(err)
	switch {
	case state == "42P01" || state == "42703" || state == "42883" || state == "3F000": // undefined table, column, function, schema
		return driver.Permanent(&sqlbase.SchemaError{Table: p.table.String(), Err: err})
	case state == "42501":
		return driver.Permanent(fmt.Errorf("%w: the role lacks a privilege on the lock table: see the documentation of package migrations", err))
	case state == "25006" || state == "55000": // read_only_sql_transaction; recovery is in progress
		return driver.Permanent(fmt.Errorf("%w: the server is read-only: locks need the primary", err))
	case unencodable(state):
		return driver.Permanent(fmt.Errorf("%w: the database's encoding cannot represent this text: use ASCII, or a database with the encoding UTF8", err))
	case refused(state):
		return driver.NotApplied(err)
	default:
		return err
	}
}

// unencodable reports whether state is untranslatable_character or character_not_in_repertoire.
func unencodable(state string) bool { return state == "22P05" || state == "22021" }

// withFields adds to err the fields of r that contain characters beyond ASCII. It does so only if err says that the
// database's encoding cannot represent a character. The server's error does not name the field.
func withFields(r driver.Request, err error) error {
	if !unencodable(sqlerror.State(err)) {
		return err
	}
	var fields []string
	for _, f := range []struct{ name, value string }{{"namespace", r.Key.Namespace}, {"name", r.Key.Name}, {"holder", r.Holder}, {"note", r.Note}} {
		if strings.ContainsFunc(f.value, func(c rune) bool { return c > unicode.MaxASCII }) {
			fields = append(fields, fmt.Sprintf("%s %q", f.name, f.value))
		}
	}
	return fmt.Errorf("%s: %w", strings.Join(fields, ", "), err)
}

// refused reports whether the server has certainly undone the statement. The classes of errors for which this is not
// certain are: a broken connection (08), an intervention by an operator or a shutdown (57), and errors of the server
// itself (58, F0, XX).
func refused(state string) bool {
	if state == "" {
		return false
	}
	for _, class := range []string{"08", "57", "58", "F0", "XX"} {
		if strings.HasPrefix(state, class) {
			return false
		}
	}
	return true
}
