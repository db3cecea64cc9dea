package fence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
)

// The text of an error is one line, even if pgx has tried several servers and reports the answer of each in a separate
// line.
func TestErrorsAreOneLine(t *testing.T) {
	const dsn = "postgres://u@127.0.0.1:1,127.0.0.1:2/d?sslmode=disable"
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()
	l, err := rowlock.New(memlock.New())
	require.NoError(t, err)
	defer l.Close()
	lease, err := l.Acquire(t.Context(), "job")
	require.NoError(t, err)
	for _, err := range []error{
		fence.Postgres(db).Tx(lease.Context(), func(context.Context, *sql.Tx) error { return nil }, "r"),
		fence.Pgx(pool).TxPgx(lease.Context(), func(context.Context, pgx.Tx) error { return nil }, "r"),
	} {
		var cause *pgconn.ConnectError
		require.ErrorAs(t, err, &cause)
		require.ErrorContains(t, err, "127.0.0.1:2")
		assert.NotContains(t, err.Error(), "\n")
	}
}
