package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlserver"
)

// busyTimeout is how long SQLite waits for another process's migration before it says that the file
// is busy.
const busyTimeout = 5 * time.Second

// session prepares the one connection that migrates the tables of this module. It is goose's
// lock.SessionLocker.
type session struct {
	versions

	busyTimeoutBefore int64   // SQLite
	pathBefore        *string // Postgres; nil unless the path is pinned
}

// SessionLock waits for its turn until ctx ends, and sees to the version table, which goose would
// create without taking turns. On Postgres nothing is found meanwhile in a schema in which others may create.
func (s *session) SessionLock(ctx context.Context, conn *sql.Conn) error {
	err := s.checkServer(ctx, conn)
	if err == nil {
		err = s.checkSchema(ctx, conn)
	}
	if err == nil && s.dialect == SQLite {
		err = s.waitWhileBusy(ctx, conn)
	} else if err == nil {
		err = s.turns().take(ctx, conn)
	}
	if err != nil {
		return err
	}
	if s.dialect == Postgres {
		err = conn.QueryRowContext(ctx, s.statement("pin")).Scan(&s.pathBefore)
	}
	if err == nil {
		err = s.ensure(ctx, conn)
	}
	if err != nil {
		return oneline.Join(fmt.Errorf("version table: %w", err), s.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// SessionUnlock gives the turn to the next.
func (s *session) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if s.dialect == SQLite {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", s.busyTimeoutBefore))
		return err
	}
	if s.dialect == Postgres {
		if err := s.unpin(ctx, conn); err != nil {
			return err
		}
	}
	return s.turns().give(ctx, conn)
}

// unpin puts the search_path back. A session that it cannot put right is thrown away, and its turn with it.
func (s *session) unpin(ctx context.Context, conn *sql.Conn) error {
	if s.pathBefore == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, unlockLimit)
	defer cancel()
	_, err := conn.ExecContext(ctx, s.statement("unpin"), *s.pathBefore)
	if err != nil {
		return oneline.Join(fmt.Errorf("restore the search_path: %w", err), discard(conn))
	}
	return nil
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

// checkServer refuses a server that only imitates PostgreSQL or MySQL: packages sqllock, advisory, mysqlock and fence do as well.
func (s *session) checkServer(ctx context.Context, conn *sql.Conn) error {
	if s.dialect == SQLite {
		return nil
	}
	var version string
	if err := conn.QueryRowContext(ctx, s.statement("server")).Scan(&version); err != nil {
		return err
	}
	return sqlserver.Supported(version)
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
