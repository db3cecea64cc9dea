package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
)

// Promise: TxPgx skips up to nine broken connections. It does not repeat a BEGIN that fails for another reason.
func TestHowOftenTxPgxBegins(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	undialled := errors.New("the test refuses to dial")
	broken := func(_ context.Context, conn *pgx.Conn) { _ = conn.PgConn().Conn().Close() }
	for name, c := range map[string]struct {
		spoil  func(ctx context.Context, conn *pgx.Conn) // called with each connection before its BEGIN
		dial   error
		begins int
	}{
		"every connection is broken":           {spoil: broken, begins: 10},
		"the server has ended all connections": {spoil: terminate, begins: 10},
		"the server refuses to begin":          {spoil: abort, begins: 1},
		"no connection is available":           {dial: undialled, begins: 1},
	} {
		t.Run(name, func(t *testing.T) {
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

// Promise: TxPgx and Tx skip a connection that the server ended while it was idle in the pool, and run the transaction
// once.
func TestAConnectionThatTheServerHasEndedIsPassedOver(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	config, err := pgxpool.ParseConfig(s.dsn)
	require.NoError(t, err)
	begins, runs := 0, 0
	config.MaxConns, config.MinConns = 1, 0
	config.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if begins++; begins == 1 {
			terminate(ctx, conn)
		}
		return true, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, fence.Pgx(pool).TxPgx(lease.Context(), func(context.Context, pgx.Tx) error {
		runs++
		return nil
	}))
	require.Equal(t, 2, begins)

	db := s.open(t, s.dsn)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Raw(func(c any) error {
		terminate(t.Context(), c.(*stdlib.Conn).Conn())
		return nil
	}))
	require.NoError(t, conn.Close())
	require.NoError(t, fence.Postgres(db).Tx(lease.Context(), func(context.Context, *sql.Tx) error {
		runs++
		return nil
	}))
	require.Equal(t, 2, runs)
}

// terminate makes the server end the connection, and waits until the connection has ended.
func terminate(ctx context.Context, conn *pgx.Conn) {
	other, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return
	}
	defer other.Close(ctx)
	pid, there := conn.PgConn().PID(), true
	_, err = other.Exec(ctx, "SELECT pg_terminate_backend($1)", pid)
	for there && err == nil {
		err = other.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1)", pid).Scan(&there)
	}
}

// abort leaves a failed transaction open on the connection. In it the server accepts only COMMIT and ROLLBACK.
func abort(ctx context.Context, conn *pgx.Conn) { _, _ = conn.Exec(ctx, "BEGIN; SELECT 1/0") }
