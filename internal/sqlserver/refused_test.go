package sqlserver_test

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/mysqlock"
	"github.com/rowlock/rowlock/sqllock"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, driverName, dsn string) *sql.DB {
	db, err := sql.Open(driverName, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// says prepares a server for a test. It creates the tables, and then runs statements that make the server report
// another version to new connections.
func says(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, migrations.Up(limited(t), db, migrations.Postgres))
	for _, statement := range statements {
		_, err := db.ExecContext(limited(t), statement)
		require.NoError(t, err)
	}
}

// refused checks that migrations, backends and fences refuse a server that reports another version. Each error must
// contain the parameter name.
func refused(t *testing.T, name string, migrate func() error, seal func(*rowlock.Lease) error, backends map[string]driver.Backend) {
	t.Helper()
	require.ErrorContains(t, migrate(), name+" is not supported, because")
	for of, b := range backends {
		_, err := b.Acquire(limited(t), driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: time.Minute})
		require.ErrorContains(t, err, name+" is not supported, because", of)
		assert.True(t, driver.IsPermanent(err), "%s: %v", of, err)
	}
	locker, err := rowlock.New(memlock.New())
	require.NoError(t, err)
	defer locker.Close()
	lease, err := locker.Acquire(limited(t), "a")
	require.NoError(t, err)
	require.ErrorContains(t, seal(lease), name+" is not supported, because")
}

// A server that speaks PostgreSQL's protocol and is not PostgreSQL is refused by name. In this test a real PostgreSQL
// server reports the version of an imitation.
func TestImitationsOfPostgresAreRefused(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{
		"CockroachDB": "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)",
		"YugabyteDB":  "PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3, 64-bit",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := testenv.Postgres(t)
			says(t, dsn, "CREATE OR REPLACE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql AS $$ SELECT '"+version+"' $$")
			db := open(t, "pgx", dsn)
			pool, err := pgxpool.New(limited(t), dsn)
			require.NoError(t, err)
			defer pool.Close()
			tx, err := db.BeginTx(limited(t), nil)
			require.NoError(t, err)
			err = advisory.InTx(limited(t), tx, "a")
			require.ErrorContains(t, err, name+" is not supported, because")
			assert.True(t, driver.IsPermanent(err), err)
			require.NoError(t, tx.Rollback())
			refused(t, name,
				func() error { return migrations.Up(limited(t), db, migrations.Postgres, migrations.Table("others")) },
				func(l *rowlock.Lease) error { return fence.Postgres(db).Seal(limited(t), l) },
				map[string]driver.Backend{
					"sqllock": sqllock.Postgres(db), "sqllock by pgx": sqllock.Pgx(pool), "advisory": advisory.NewDB(db), "advisory by pgx": advisory.New(pool),
				})
		})
	}
}

// If a statement fails because an imitation lacks a feature, the library reads the server's version, and the error
// names the server.
func TestAnImitationThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	says(t, dsn,
		"CREATE OR REPLACE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql AS $$ SELECT 'CockroachDB CCL v23.1.11' $$",
		"ALTER FUNCTION pg_catalog.pg_walfile_name(pg_lsn) RENAME TO not_there")
	db := open(t, "pgx", dsn)
	for of, b := range map[string]driver.Backend{"sqllock": sqllock.Postgres(db), "advisory": advisory.NewDB(db)} {
		_, err := b.Acquire(limited(t), driver.Request{Key: driver.Key{Name: "a"}, Nonce: driver.NewNonce(), TTL: time.Minute})
		require.ErrorContains(t, err, "CockroachDB is not supported", of)
		assert.True(t, driver.IsPermanent(err), "%s: %v", of, err)
	}
}

// A server that speaks MySQL's protocol and is neither MySQL nor MariaDB is refused by name. In this test a MariaDB
// reports that it is Vitess.
func TestImitationsOfMySQLAreRefused(t *testing.T) {
	t.Parallel()
	server, err := testserver.Start(t.Context(), testserver.MariaDB, testserver.Options{Logf: t.Logf, Args: []string{"--version=8.0.23-vitess"}})
	if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	db := open(t, "mysql", server.DSN)
	refused(t, "Vitess",
		func() error { return migrations.Up(limited(t), db, migrations.MySQL) },
		func(l *rowlock.Lease) error { return fence.MySQL(db).Seal(limited(t), l) },
		map[string]driver.Backend{"sqllock": sqllock.MySQL(db), "mysqlock": mysqlock.New(db), "mysqlock without tokens": mysqlock.New(db, mysqlock.NoToken())})
}
