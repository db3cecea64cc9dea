package fence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Numbers by which MySQL and MariaDB end a session or refuse to begin one.
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
// https://mariadb.com/kb/en/mariadb-error-code-reference/
const (
	mysqlTooManyConnections = 1040
	mysqlShutdown           = 1053
	mariadbKilled           = 1927
	mysqlKilled             = 3169
)

// Numbers and the state that say that a server takes no writes, as one that was the primary.
const (
	postgresReadOnly  = "25006"
	mysqlOption       = 1290 // --read-only, --super-read-only
	mysqlTransaction  = 1792
	mysqlReadOnlyMode = 1836
)

// Numbers and codes that say that the disk is full, or a file read-only.
// https://www.sqlite.org/rescode.html
const (
	sqliteReadOnly = 8
	mysqlDiskFull  = 1021
	mysqlTableFull = 1114
	sqliteFull     = 13
)

// interrupted makes the end of bounded, within which a call was made, a cause of its error: a driver that closes its connection
// then may say no more than that it is closed.
func interrupted(bounded context.Context, err error) error {
	if ended := bounded.Err(); ended != nil && unanswered(err) && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// unanswered says whether err is what becomes of a statement when the connection or the server goes, when
// there is none to be had, or when the server has no room or takes no writes: it is no answer to what was asked.
func unanswered(err error) bool {
	var schema *SchemaError
	if err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrOtherDomain) || errors.Is(err, ErrRetry) || errors.As(err, &schema) {
		return false
	}
	// Connection exceptions, operator intervention but for a statement that was cancelled, insufficient resources.
	// https://www.postgresql.org/docs/current/errcodes-appendix.html
	if takesNoWrites(err) {
		return true
	}
	if state := sqlerror.State(err); state != "" {
		return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "53")
	}
	switch sqlerror.MySQL(err) {
	case 0:
		code := sqlerror.SQLite(err) & 0xff
		return code == 0 /* a driver's own error */ || code == sqliteFull
	case mysqlTooManyConnections, mysqlShutdown, mariadbKilled, mysqlKilled, mysqlDiskFull, mysqlTableFull:
		return true
	default:
		return false
	}
}

// takesNoWrites says whether err is the refusal of a write by a transaction, a server or a file that is read-only.
func takesNoWrites(err error) bool {
	switch sqlerror.MySQL(err) {
	case mysqlOption, mysqlTransaction, mysqlReadOnlyMode:
		return true
	}
	return sqlerror.State(err) == postgresReadOnly || sqlerror.SQLite(err)&0xff == sqliteReadOnly
}
