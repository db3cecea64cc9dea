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

// SessionLocker returns a lock for your own goose migrations. Many processes may then migrate at the same time, and
// each migration runs once. Pass the lock to goose.WithSessionLocker. The lock needs no table. The lock belongs to the
// database session that migrates. On Postgres it is an advisory lock. On MySQL and MariaDB it is a lock of GET_LOCK. So
// goose needs a direct connection, or a pooler in session mode. If you have several folders of migrations, give each
// folder its own name. The lock applies only within one database.
//
// Before goose (3.29) acquires the lock, it checks for pending migrations, and creates its version table if the table
// is missing. On MySQL and MariaDB goose creates the table and inserts its first row in two steps, without a
// transaction. A process that checks between these two steps fails with "missing zero version migration",
// and must be started again.
//
// A waiting process polls about every 50 ms. It stops waiting when the context that you passed to goose ends. The
// process holds no snapshot between polls, so it does not block CREATE INDEX CONCURRENTLY. When the migrating process
// dies, the server ends its session, and the next process continues. If a session cannot be unlocked, SessionUnlock
// closes the session. If the server returns an error, SessionLock and SessionUnlock return it, too. SQLite has no
// session locks: there SessionLock returns lock.ErrLockNotImplemented. Use [Locker] on SQLite.
//
// After the last migration goose closes the connection. The driver lib/pq ignores contexts: if the server does not
// answer, lib/pq's close waits until the connection fails. To limit this wait, set tcp_user_timeout on the machine, or
// use pgx's driver. [Up], [Down] and [Status] return when their ctx ends, with any driver.
func SessionLocker(d Dialect, name string) lock.SessionLocker {
	return fleetSession{turns{d, "goose:" + name}} // table names contain no colon, so this name differs from the names of Up's locks
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

// Locker returns a lock for your own goose migrations that uses a lock of any backend. Many processes may then migrate
// at the same time, and each migration runs once. Pass the lock to goose.WithLocker. Lock calls
// [rowlock.Locker.Acquire] with opts, and Unlock releases the lease. If the lease is lost during a migration, goose is
// not notified and continues. Unlock then returns a rowlock.ErrLost, and goose returns that error. The caller closes
// the locker. The tables that the locker's store needs must exist before you call goose. For lease rows, call [Up]
// first.
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

// Unlock releases the lease that Lock acquired. It returns an error if this fleetLocker holds no lease.
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
