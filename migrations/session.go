package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	sqldriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// lockPoll is the mean pause between two tries to lock.
const lockPoll = 50 * time.Millisecond

// busyTimeout is how long SQLite waits for another process's migration before it says that the file
// is busy.
const busyTimeout = 5 * time.Second

// session prepares the one connection that migrates, and makes the processes that migrate at the
// same time take turns. It is goose's lock.SessionLocker.
type session struct {
	versions

	busyTimeoutBefore int64 // SQLite
}

// SessionLock waits for its turn until ctx ends, and sees to the version table, which goose would
// create without taking turns.
func (s *session) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := s.checkSchema(ctx, conn); err != nil {
		return err
	}
	if s.dialect == SQLite {
		if err := s.waitWhileBusy(ctx, conn); err != nil {
			return err
		}
	}
	for s.dialect != SQLite {
		n, err := s.count(ctx, conn, "lock", s.key())
		if err != nil {
			return errors.Join(fmt.Errorf("lock: %w", err), discard(conn))
		}
		if n == 1 {
			break
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for another migration: %w", err)
		}
	}
	if err := s.ensure(ctx, conn); err != nil {
		return errors.Join(fmt.Errorf("version table: %w", err), s.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// SessionUnlock gives the turn to the next. A session that it cannot unlock is thrown away, because
// a pool would keep it together with its lock.
func (s *session) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if s.dialect == SQLite {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", s.busyTimeoutBefore))
		return err
	}
	n, err := s.count(ctx, conn, "unlock", s.key())
	if err == nil && n == 1 {
		return nil
	}
	if err == nil {
		err = errors.New("the session did not have the lock: is there a transaction pooler in between?")
	}
	return errors.Join(fmt.Errorf("unlock: %w", err), discard(conn))
}

// waitWhileBusy raises the connection's busy timeout.
func (s *session) waitWhileBusy(ctx context.Context, conn *sql.Conn) error {
	if err := conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&s.busyTimeoutBefore); err != nil {
		return err
	}
	longer := max(s.busyTimeoutBefore, busyTimeout.Milliseconds())
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", longer))
	return err
}

func (s *session) checkSchema(ctx context.Context, conn *sql.Conn) error {
	schema := s.table.Schema()
	if schema == "" {
		return nil
	}
	n, err := s.count(ctx, conn, "schema", schema)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: create it first", &missingSchemaError{schema})
	}
	return err
}

type missingSchemaError struct{ schema string }

func (e *missingSchemaError) Error() string { return fmt.Sprintf("schema %q does not exist", e.schema) }

// key names the lock. Postgres takes a number: the first eight bytes of a SHA-256, big-endian.
func (s *session) key() any {
	if s.dialect == MySQL {
		return s.table.String()
	}
	sum := sha256.Sum256([]byte("rowlock migrations " + s.table.String()))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // every bit pattern is a key
}

// discard closes the session itself instead of giving it back to its pool.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
