package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// These error numbers are expected results: another session has inserted or locked the row.
// https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html
// https://mariadb.com/kb/en/mariadb-error-code-reference/
const (
	duplicateKey    = 1062
	rowLockTimeout  = 1205 // on MariaDB also the error of a NOWAIT read of a locked row
	rowLockedNoWait = 3572
)

// These error numbers are expected results of the statements of an ear.
const (
	queryInterrupted = 1317
	notTheOwner      = 1095 // the session belongs to another user
)

// transient reports whether the server has undone the statement and a retry may succeed.
func transient(err error) bool {
	switch sqlerror.MySQL(err) {
	case rowLockTimeout,
		1213, // deadlock; on Galera, a conflict with another node
		1020, // the row has changed since the snapshot (MariaDB, innodb_snapshot_isolation)
		rowLockedNoWait,
		1615: // prepared statement needs to be prepared again
		return true
	default:
		return false
	}
}

// uncertain reports whether the statement may have had an effect although the server reported this error. There are
// three causes. The statement was interrupted, perhaps after the commit. The commit itself failed. A proxy has lost
// its connection to the server, and reports a client error number (2000 to 2999) or a number of its own (ProxySQL:
// 9001 and up).
func uncertain(number uint16) bool {
	switch {
	case number >= 2000 && number < 3000, number >= 9000 && number < 10000:
		return true
	}
	switch number {
	case queryInterrupted,
		1053,       // server shutdown in progress
		1180,       // error during commit
		1927,       // connection killed (MariaDB)
		1969,       // max_statement_time (MariaDB)
		3024,       // max_execution_time
		3100, 3101, // commit refused by a replication plugin
		3169, // session killed
		4031: // disconnected for inactivity
		return true
	default:
		return false
	}
}

// permanentReason returns an explanation if a retry cannot fix the error, else an empty text.
func permanentReason(number uint16) string {
	switch number {
	case 1290, 1792, 1836:
		return "the server or the session is read-only: locks need the primary"
	case 1045, 1698:
		return "the server refused the user: check the user name and the password"
	case 1044, 1142, 1143, 1227:
		return "the user lacks access to the lock table: see the documentation of package migrations"
	case 1665:
		return "the server does not permit this isolation level with binlog_format=STATEMENT: set binlog_format to ROW or MIXED"
	case 1153, 1301:
		return "the statement is longer than max_allowed_packet"
	case 1048, 1064, 1193, 1264, 1292, 1305, 1366, 1406, 1441:
		return "the server rejected the statement"
	default:
		return ""
	}
}

// classify marks err as the driver contract requires: as permanent, as not applied, or not at all if the effect is
// unknown.
func (b *Backend) classify(ctx context.Context, operation string, key driver.Key, err error) error {
	if sqlbase.Settled(err) {
		return err
	}
	err = sqlbase.Describe(ctx, operation, key, err)
	var unreachable *net.OpError
	number := sqlerror.MySQL(err)
	reason := permanentReason(number)
	switch {
	case driver.IsPermanent(err):
		return err
	case number == 1146 || number == 1054 || number == 1049: // unknown table, column, database
		return driver.Permanent(&sqlbase.SchemaError{Table: b.table.String(), Err: err})
	case reason != "":
		return driver.Permanent(fmt.Errorf("%w: %s", err, reason))
	case errors.Is(err, mysqldriver.ErrPktTooLarge):
		return driver.Permanent(err)
	case driver.IsNotApplied(err):
		return err
	case number != 0 && !uncertain(number), // the server undid the statement
		errors.As(err, &unreachable) && unreachable.Op == "dial",
		errors.Is(err, sqldriver.ErrBadConn): // nothing was sent
		return driver.NotApplied(err)
	default:
		return err
	}
}
