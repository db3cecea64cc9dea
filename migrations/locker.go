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

// SessionLocker lets the processes of a fleet run any goose migrations once: hand it to
// goose.WithSessionLocker. It needs no table. The lock is the one session's that migrates: on Postgres
// an advisory lock, on MySQL and MariaDB GET_LOCK; so the migrations need a direct connection, or a
// pooler in session mode. name keeps different folders of migrations apart; it is this database's own.
//
// goose (3.29) looks whether anything is pending before it takes the lock, and creates its version table
// then. MySQL and MariaDB have no transaction around that: a process that looks in between fails with
// "missing zero version migration", once, and has to be started again.
//
// A process that waits asks every 50 ms and holds no snapshot meanwhile, so that an index that is built
// concurrently is not stalled; it waits for as long as the ctx of goose's call lasts. When the process
// that migrates dies, the server ends its session, and the next one goes on. A session that cannot be
// unlocked is closed. The server's errors are returned; SQLite has no session locks, and gets
// lock.ErrLockNotImplemented: use [Locker] there.
//
// With lib/pq, which heeds no context, goose's call waits on a silent network for as long as the connection stands, because goose itself
// closes the connection at the end. Set tcp_user_timeout on the machine, or use pgx's driver. [Up], [Down] and [Status] end with their ctx
// with any driver.
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

// Locker lets the processes of a fleet run any goose migrations once, by a lock of any backend: hand it
// to goose.WithLocker. Lock waits as [rowlock.Locker.Acquire] does, with these options, and Unlock
// releases. goose cannot be told that the lease was lost while it migrated; Unlock then returns an
// rowlock.ErrLost, which goose reports as the failure of the call. The locker stays the caller's to
// close; its store must exist before (for lease rows: call [Up] first).
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

// Unlock is called by whoever has locked: the lock itself keeps two calls of Lock apart.
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
