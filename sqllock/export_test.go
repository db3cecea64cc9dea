package sqllock

import "github.com/rowlock/rowlock/sqllock/internal/postgres"

// Listens reports whether b, a backend for Postgres, has a connection that listens or is about to, and whether b
// keeps a row of a waiter.
func (b *Backend) Listens() (listens, rows bool) {
	return b.dialect.(*postgres.Backend).Listens() //nolint:forcetypeassert // only tests for Postgres call this method
}
