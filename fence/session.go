package fence

import (
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
)

var errOldSnapshot = errors.New("the transaction began to read before the seal: check first, then read")

// discard closes a connection in doubt instead of giving it back to its pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // that error is the order to close it
}
