package sqllock_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// If the server has closed a connection of the pool, no call fails. A statement that could not be sent on that
// connection is sent on another connection. The pool discards the closed connection.
func TestPostgresReplacesAConnectionThatHasEnded(t *testing.T) {
	t.Parallel()
	db := openDB(t, testenv.Postgres(t))
	testschema.Install(t, db, migrations.Postgres)
	db.SetMaxOpenConns(1)
	b := sqllock.Postgres(db)
	end := func() {
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		require.NoError(t, conn.Raw(func(dc any) error {
			return dc.(interface{ Conn() *pgx.Conn }).Conn().PgConn().Conn().Close()
		}))
		require.NoError(t, conn.Close())
	}
	end()
	g := acquire(t, b, request("job"))
	end()
	require.NoError(t, b.Release(t.Context(), g))
	assert.Equal(t, 1, db.Stats().OpenConnections)
	acquire(t, b, request("job"))
}
