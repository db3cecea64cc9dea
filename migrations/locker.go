package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/pressly/goose/v3/lock"

	"github.com/rowlock/rowlock"
)

// SessionLocker lets the processes of a fleet run any goose migrations once. Pass it to goose.WithSessionLocker. It
// needs no table. The lock belongs to the session that migrates: on Postgres it is an advisory lock, on MySQL and
// MariaDB GET_LOCK. So the migrations need a direct connection, or a pooler in session mode. name distinguishes
// folders of migrations. The lock is local to this database.
//
// goose (3.29) checks for pending migrations before it acquires the lock, and creates its version table then. MySQL
// and MariaDB have no transaction around that. A process that checks in between fails once with "missing zero version
// migration", and must be started again.
//
// A waiting process polls every 50 ms until the ctx of goose's call ends. It holds no snapshot between polls, so it
// does not stall CREATE INDEX CONCURRENTLY. When the migrating process dies, the server ends its session, and the next
// process continues. If a session cannot be unlocked, it is closed. The server's errors are returned. SQLite has no
// session locks, and returns lock.ErrLockNotImplemented: use [Locker] there.
//
// goose itself closes the connection at the end. With lib/pq, which ignores contexts, that call waits on a silent
// network until the connection fails. Set tcp_user_timeout on the machine, or use pgx's driver. [Up], [Down] and
// [Status] end with their ctx with any driver.
func SessionLocker(d Dialect, name string) lock.SessionLocker {
	return fleetSession{turns{d, "goose:" + name}} // no table's name has a colon
}

type fleetSession struct{ turns }

func (s fleetSession) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := s.dialect.check(); err != nil {
		return err
	}
	if s.dialect == SQLite {
		return fmt.Errorf("migrations: SQLite: %w", lock.ErrLockNotImplemented)
	}
	return s.take(ctx, conn)
}

func (s fleetSession) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	return s.give(ctx, conn)
}

// Locker lets the processes of a fleet run any goose migrations once, using a lock of any backend. Pass it to
// goose.WithLocker. Lock waits as [rowlock.Locker.Acquire] does, with these options, and Unlock releases. goose cannot
// be notified during a migration that the lease was lost. Unlock then returns a rowlock.ErrLost, and goose reports it
// as the failure of the call. The caller closes the locker. The locker's store must exist before (for lease rows: call
// [Up] first).
func Locker(locker *rowlock.Locker, name string, opts ...rowlock.Option) lock.Locker {
	return &fleetLocker{locker: locker, name: name, opts: opts}
}

type fleetLocker struct {
	locker *rowlock.Locker
	name   string
	opts   []rowlock.Option

	mu    sync.Mutex
	lease *rowlock.Lease
}

func (l *fleetLocker) Lock(ctx context.Context, _ *sql.DB) error {
	if l.locker == nil {
		return errors.New("migrations: Locker: the locker is nil")
	}
	lease, err := l.locker.Acquire(ctx, l.name, l.opts...)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease = lease
	return nil
}

// Unlock releases the lock. Only the process that holds it may call Unlock. The lock itself excludes concurrent calls
// of Lock.
func (l *fleetLocker) Unlock(ctx context.Context, _ *sql.DB) error {
	l.mu.Lock()
	lease := l.lease
	l.lease = nil
	l.mu.Unlock()
	if lease == nil {
		return errors.New("migrations: unlock: not locked")
	}
	return lease.Release(ctx)
}
