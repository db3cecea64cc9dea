package sqllock

import "github.com/rowlock/rowlock/sqllock/internal/postgres"

// Listens reports whether b, which is for Postgres, has a connection that listens, or is about to, and whether it keeps a row of a waiter.
func (b *Backend) Listens() (listens, rows bool) {
	return b.dialect.(*postgres.Backend).Listens() //nolint:forcetypeassert // of tests for Postgres
}
