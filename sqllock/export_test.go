package sqllock

import (
	"time"

	"github.com/rowlock/rowlock/sqllock/internal/mysql"
	"github.com/rowlock/rowlock/sqllock/internal/postgres"
)

// Listens reports whether the listener of b runs or keeps a connection, and whether b has rows in the table of
// waiters. b must be a backend for Postgres.
func (b *Backend) Listens() (listens, rows bool) {
	return b.dialect.(*postgres.Backend).Listens() //nolint:forcetypeassert // only tests for Postgres call this method
}

// SetIdle sets how long b keeps a connection that it does not use. It must be called before b is used.
func (b *Backend) SetIdle(d time.Duration) {
	switch backend := b.dialect.(type) {
	case *postgres.Backend:
		backend.SetIdle(d)
	case *mysql.Backend:
		backend.SetIdle(d)
	}
}

// SetTick sets how often b writes and deletes the rows of its waiters. It must be called before b is used. b must be a
// backend for Postgres.
func (b *Backend) SetTick(d time.Duration) {
	b.dialect.(*postgres.Backend).SetTick(d) //nolint:forcetypeassert // only tests for Postgres call this method
}

// SetHello sets how long b waits for the notification that it sends to itself. It must be called before b is used. b
// must be a backend for Postgres.
func (b *Backend) SetHello(d time.Duration) {
	b.dialect.(*postgres.Backend).SetHello(d) //nolint:forcetypeassert // only tests for Postgres call this method
}
