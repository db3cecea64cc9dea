package fence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Error numbers with which MySQL and MariaDB end a session or refuse a new one.
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
// https://mariadb.com/kb/en/mariadb-error-code-reference/
const (
	mysqlTooManyConnections = 1040
	mysqlShutdown           = 1053
	mariadbKilled           = 1927
	mysqlKilled             = 3169
)

// Error codes of a server that accepts no writes, such as a former primary.
const (
	postgresReadOnly  = "25006"
	mysqlOption       = 1290 // --read-only, --super-read-only
	mysqlTransaction  = 1792
	mysqlReadOnlyMode = 1836
)

// Error codes for a full disk or a read-only file. https://www.sqlite.org/rescode.html
const (
	sqliteReadOnly = 8
	mysqlDiskFull  = 1021
	mysqlTableFull = 1114
	sqliteFull     = 13
)

// If the context bounded has ended, interrupted adds the context's error to err. A driver that closes its connection
// because its context has ended may report only that the connection is closed.
func interrupted(bounded context.Context, err error) error {
	if ended := bounded.Err(); ended != nil && unanswered(err) && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// unanswered reports whether err says nothing about the lease, because the database did not do the work. Possible
// reasons: the connection or the server is gone, no connection is available, the disk is full, or the server accepts no
// writes.
func unanswered(err error) bool {
	var schema *SchemaError
	if err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrOtherDomain) || errors.Is(err, ErrRetry) || errors.As(err, &schema) {
		return false
	}
	// The classes are connection exceptions, operator intervention except a cancelled statement, and insufficient
	// resources. https://www.postgresql.org/docs/current/errcodes-appendix.html
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

// takesNoWrites reports whether err says that the transaction, the server or the file is read-only.
func takesNoWrites(err error) bool {
	switch sqlerror.MySQL(err) {
	case mysqlOption, mysqlTransaction, mysqlReadOnlyMode:
		return true
	}
	return sqlerror.State(err) == postgresReadOnly || sqlerror.SQLite(err)&0xff == sqliteReadOnly
}
