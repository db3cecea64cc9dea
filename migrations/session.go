package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlserver"
)

// busyTimeout is how long SQLite waits while another process migrates, before SQLite returns the error SQLITE_BUSY.
const busyTimeout = 5 * time.Second

// session prepares the connection on which goose migrates the tables of this module. It implements goose's
// lock.SessionLocker.
type session struct {
	versions

	busyTimeoutBefore int64   // SQLite: the busy timeout in milliseconds to restore
	pathBefore        *string // Postgres: the search_path to restore; nil if SessionLock has not changed the search_path
}

// SessionLock waits for the lock until ctx ends. Then it creates the version table, because goose would create that
// table without the lock. On Postgres SessionLock also sets the search_path, so that no name resolves to another schema
// in which other roles may create objects.
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

// SessionUnlock restores the session's settings and releases the lock.
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

// unpin restores the search_path of the session. If that fails, unpin closes the session, and closing releases the
// lock.
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

// waitWhileBusy raises SQLite's busy timeout on conn to at least busyTimeout.
func (s *session) waitWhileBusy(ctx context.Context, conn *sql.Conn) error {
	if err := conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&s.busyTimeoutBefore); err != nil {
		return err
	}
	longer := max(s.busyTimeoutBefore, busyTimeout.Milliseconds())
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", longer))
	return err
}

// checkServer returns an error for a server that speaks the protocol of PostgreSQL or MySQL but is another database.
// Packages sqllock, advisory, mysqlock and fence check the server in the same way.
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
