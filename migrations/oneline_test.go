package migrations_test

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/migrations"
)

// An error is one line. pgx writes one line for each server that it has tried, and these lines are joined.
func TestErrorsAreOneLine(t *testing.T) {
	db, err := sql.Open("pgx", "postgres://u@127.0.0.1:1,127.0.0.1:2/d?sslmode=disable")
	require.NoError(t, err)
	defer db.Close()
	_, status := migrations.Status(t.Context(), db, migrations.Postgres)
	for _, err := range []error{migrations.Up(t.Context(), db, migrations.Postgres), migrations.Down(t.Context(), db, migrations.Postgres), status} {
		var cause *pgconn.ConnectError
		require.ErrorAs(t, err, &cause)
		require.ErrorContains(t, err, "127.0.0.1:2")
		assert.NotContains(t, err.Error(), "\n")
	}
}
