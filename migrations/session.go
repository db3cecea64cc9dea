package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// busyTimeout is how long SQLite waits for another process's migration before it says that the file
// is busy.
const busyTimeout = 5 * time.Second

// session prepares the one connection that migrates the tables of this module. It is goose's
// lock.SessionLocker.
type session struct {
	versions

	busyTimeoutBefore int64 // SQLite
}

// SessionLock waits for its turn until ctx ends, and sees to the version table, which goose would
// create without taking turns.
func (s *session) SessionLock(ctx context.Context, conn *sql.Conn) error {
	err := s.checkSchema(ctx, conn)
	if err == nil && s.dialect == SQLite {
		err = s.waitWhileBusy(ctx, conn)
	} else if err == nil {
		err = s.turns().take(ctx, conn)
	}
	if err != nil {
		return err
	}
	if err := s.ensure(ctx, conn); err != nil {
		return errors.Join(fmt.Errorf("version table: %w", err), s.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// SessionUnlock gives the turn to the next.
func (s *session) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if s.dialect == SQLite {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", s.busyTimeoutBefore))
		return err
	}
	return s.turns().give(ctx, conn)
}

func (s *session) turns() turns { return turns{s.dialect, s.table.String()} }

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
