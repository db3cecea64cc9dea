package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	sqldriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

const (
	// lockPoll is the mean delay between two attempts to acquire the lock.
	lockPoll = 50 * time.Millisecond
	// unlockLimit is the timeout of an unlock, because the context that goose passes never ends.
	unlockLimit = 5 * time.Second
)

// turns describes a lock under which only one process at a time migrates. The lock belongs to the database session that
// migrates. On Postgres it is an advisory lock. On MySQL and MariaDB it is a lock of GET_LOCK.
type turns struct {
	dialect Dialect
	name    string
}

// take polls until the session has the lock or ctx ends. If a request for the lock fails, the server may have granted
// the lock to the session. So the method closes the session.
func (t turns) take(ctx context.Context, conn *sql.Conn) error {
	for {
		n, err := t.ask(ctx, conn, "lock")
		if err != nil {
			return oneline.Join(fmt.Errorf("lock: %w", ended(ctx, err)), discard(conn))
		}
		if n == 1 {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for another migration: %w", err)
		}
	}
}

// give releases the lock. If the session cannot be unlocked, the method closes the session. Otherwise the connection
// pool would keep the session, and the session would keep the lock.
func (t turns) give(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, unlockLimit)
	defer cancel()
	n, err := t.ask(ctx, conn, "unlock")
	if err == nil && n == 1 {
		return nil
	}
	if err == nil {
		err = errors.New("the session did not have the lock: is there a transaction pooler in between?")
	}
	return oneline.Join(fmt.Errorf("unlock: %w", err), discard(conn))
}

// ask runs the statement in version/<dialect>/<verb>.sql and returns its result, 1 or 0.
func (t turns) ask(ctx context.Context, conn *sql.Conn, verb string) (n int, err error) {
	text, err := versionFiles.ReadFile(path.Join("version", t.dialect.String(), verb+".sql"))
	if err == nil {
		err = conn.QueryRowContext(ctx, string(text), t.key()).Scan(&n)
	}
	return n, err
}

// key returns the parameter that identifies the lock in a statement. On MySQL it is the name in t. On Postgres it is a
// number: the first eight bytes of the SHA-256 of "rowlock migrations " and the name, big-endian.
func (t turns) key() any {
	if t.dialect == MySQL {
		return t.name
	}
	sum := sha256.Sum256([]byte("rowlock migrations " + t.name))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // every bit pattern is a key
}

// If ctx has ended, the function ended returns an error that wraps ctx's error and err. Drivers may return only another
// error in this case, such as a bad connection. A driver that opens a connection with ctx's deadline may time out a
// moment before ctx ends. So the function also checks whether the deadline has passed.
func ended(ctx context.Context, err error) error {
	end := ctx.Err()
	if deadline, ok := ctx.Deadline(); ok && end == nil && !time.Now().Before(deadline) {
		end = context.DeadlineExceeded
	}
	if err == nil || end == nil || errors.Is(err, end) {
		return err
	}
	return fmt.Errorf("%w: %w", end, err)
}

// discard closes the database session and does not return conn to its pool.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
