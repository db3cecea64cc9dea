package sqllock

import (
	"context"

	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// withBusySlice gives q's connection a short busy time-out, and returns what puts its own one back.
func withBusySlice(ctx context.Context, q querier) (restore func() error, err error) {
	return sqlitefile.WithBusySlice(ctx, func(ctx context.Context, statement string, ms *int) error {
		_, err := queryOne(ctx, q, statement, nil, ms)
		return err
	})
}
