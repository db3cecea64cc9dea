package sqlite

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// withBusySlice gives q's connection a short busy time-out, and returns what puts its own one back. pool is nil unless q is a
// transaction of the caller's.
func withBusySlice(ctx context.Context, pool *sql.DB, q sqlbase.Querier) (restore func() error, err error) {
	return sqlitefile.WithBusySlice(ctx, pool, func(ctx context.Context, statement string, ms *int) error {
		_, err := sqlbase.QueryOne(ctx, q, statement, nil, ms)
		return err
	})
}
