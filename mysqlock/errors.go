package mysqlock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// SchemaError reports that the table of tokens is missing. Its message tells how to create the table,
// and which option avoids the need for it.
type SchemaError struct {
	Table string
	Err   error // the database's error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the table %s is missing: run `rowlock migrate up`, or call migrations.Up, or use the option mysqlock.NoToken: %v", e.Table, e.Err)
}

// Unwrap returns the database's error.
func (e *SchemaError) Unwrap() error { return e.Err }

var (
	errClosed   = errors.New("the server has closed the connection")
	errNoTokens = errors.New("all tokens are used up: the table of the mint was changed by hand")
	errReadOnly = errors.New("this server is read-only (read_only), and the primary does not see its locks: use a DSN that leads to the primary")
)

// plain reports whether err is an answer of the server that leaves the session usable.
func plain(ctx context.Context, err error) bool {
	switch sqlerror.MySQL(err) {
	case 0,
		1053,                         // ER_SERVER_SHUTDOWN: the server is shutting down
		1152, 1153, 1158, 1159, 1160, // ER_ABORTING_CONNECTION and similar
		1161, 1184, 1927, // MariaDB also: killed
		3169, // session killed
		4031: // disconnected for inactivity
		return false
	default:
		return ctx.Err() == nil
	}
}

// Over reports whether err means that the statement was never sent, because the session had already ended.
func (se *session) Over(err error) bool {
	switch sqlerror.MySQL(err) {
	case 1927, 3169, 4031:
		return true
	default:
		return errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
	}
}

// remedy adds to an error of a request what to do, and marks errors that a retry cannot fix as permanent.
func (b *Backend) remedy(err error) error {
	switch sqlerror.MySQL(err) {
	case 1146, 1054, 1049: // unknown table, column, database
		return driver.Permanent(&SchemaError{Table: b.locks.Table.String() + "_mint", Err: err})
	case 1290, 1792, 1836:
		return driver.Permanent(fmt.Errorf("%w: the server or the session is read-only: locks need the primary", err))
	case 1045, 1698:
		return driver.Permanent(fmt.Errorf("%w: the server refused the user: check the user and the password", err))
	case 1044, 1142, 1143, 1227:
		return driver.Permanent(fmt.Errorf("%w: the user lacks a privilege: the documentation of package mysqlock lists the privileges that the user needs", err))
	case 1235, 4187: // the answer to GET_LOCK of a Galera node that does not support it
		return driver.Permanent(fmt.Errorf("%w: the server does not support GET_LOCK", err))
	default:
		return err
	}
}
