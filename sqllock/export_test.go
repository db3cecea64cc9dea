package sqllock

import "github.com/rowlock/rowlock/sqllock/internal/postgres"

// Listens reports whether the listener of b runs or keeps a connection, and whether b has rows in the table of
// waiters. b must be a backend for Postgres.
func (b *Backend) Listens() (listens, rows bool) {
	return b.dialect.(*postgres.Backend).Listens() //nolint:forcetypeassert // only tests for Postgres call this method
}
