package fence_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
)

// Promise: TxPgx passes over broken connections, a limited number of times, and repeats no BEGIN that fails in another way.
func TestHowOftenTxPgxBegins(t *testing.T) {
	t.Parallel()
	undialled := errors.New("the test lets nobody dial")
	broken := func(_ context.Context, conn *pgx.Conn) { _ = conn.PgConn().Conn().Close() }
	for name, c := range map[string]struct {
		spoil  func(ctx context.Context, conn *pgx.Conn) // each connection, before its BEGIN
		dial   error
		begins int
	}{
		"every connection is broken":       {spoil: broken, begins: 10},
		"the server refuses to begin":      {spoil: abort, begins: 1},
		"there is no connection to be had": {dial: undialled, begins: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engines[0].fresh(t)
			lease := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			config, err := pgxpool.ParseConfig(s.dsn)
			require.NoError(t, err)
			begins := 0
			config.MaxConns, config.MinConns = 1, 0
			if c.dial != nil {
				config.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
					begins++
					return nil, c.dial
				}
			}
			config.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
				begins++
				c.spoil(ctx, conn)
				return true, nil
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			begun := false
			err = fence.Pgx(pool).TxPgx(lease.Context(), func(context.Context, pgx.Tx) error {
				begun = true
				return nil
			})
			require.ErrorContains(t, err, "begin")
			require.Equal(t, c.begins, begins)
			require.False(t, begun)
		})
	}
}

// abort leaves a transaction in which the server takes nothing but its end.
func abort(ctx context.Context, conn *pgx.Conn) { _, _ = conn.Exec(ctx, "BEGIN; SELECT 1/0") }
