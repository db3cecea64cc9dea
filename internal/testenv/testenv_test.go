package testenv_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

func TestEachTestHasAPostgresDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	one, other := testenv.Postgres(t), testenv.Postgres(t)
	require.NotEqual(t, one, other)
	for _, dsn := range []string{one, other} { // in a database that two tests share, the second CREATE TABLE would fail
		conn, err := pgx.Connect(t.Context(), dsn)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(t.Context(), "CREATE TABLE thing (id int)")
		require.NoError(t, err)
	}
}

func TestCompatPgBouncerReachesTheSameDatabase(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	pooled, direct := testenv.PgBouncer(t)

	conn, err := pgx.Connect(t.Context(), direct)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "CREATE TABLE thing AS SELECT 42 AS id")
	require.NoError(t, err)

	config, err := pgx.ParseConfig(pooled)
	require.NoError(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // not prepared: behind a pooler, a named statement may belong to another session
	through, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer through.Close(context.Background())
	var id int
	require.NoError(t, through.QueryRow(t.Context(), "SELECT id FROM thing WHERE id > $1", 1).Scan(&id))
	require.Equal(t, 42, id)
}

func TestEachTestHasAMySQLDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for engine, fresh := range map[string]func(testing.TB) string{
		testenv.EngineMySQL: testenv.MySQL, testenv.EngineMariaDB: testenv.MariaDB,
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				db, err := sql.Open("mysql", fresh(t))
				require.NoError(t, err)
				defer db.Close()
				_, err = db.ExecContext(t.Context(), "CREATE TABLE thing (id int)")
				require.NoError(t, err)
				var version string
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version))
				isMariaDB := engine == testenv.EngineMariaDB
				require.Equal(t, isMariaDB, strings.Contains(version, "MariaDB"), version)
			}
		})
	}
}
