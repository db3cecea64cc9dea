package sqlhandle

import (
	"context"
	"database/sql"
	"net"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func open(t *testing.T, driverName, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driverName, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// This release of Go still stores a handle's connector in the expected field, however the handle was opened.
func TestConnectorIsFound(t *testing.T) {
	config, err := mysql.ParseDSN("app@tcp(db)/app")
	require.NoError(t, err)
	given, err := mysql.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(given)
	defer db.Close()
	assert.Same(t, given, Connector(db))
	assert.NotNil(t, Connector(open(t, "mysql", "app@tcp(db)/app")))
	assert.NotNil(t, Connector(open(t, "pgx", "postgres://app@db/app")))
	assert.NotNil(t, Connector(open(t, otherdriver.Name, "postgres://app@db/app")), "a driver that has none of its own")
}

// A second handle opens its one connection as the first handle does. Closing the second handle does not close the
// connector.
func TestOpenOne(t *testing.T) {
	db := open(t, "pgx", testenv.Postgres(t))
	one := OpenOne(db, time.Minute)
	var first, second string
	require.NoError(t, db.QueryRow("SELECT current_database()").Scan(&first))
	require.NoError(t, one.QueryRow("SELECT current_database()").Scan(&second))
	assert.Equal(t, first, second)
	assert.Equal(t, 1, one.Stats().MaxOpenConnections)
	require.NoError(t, one.Close())
	require.NoError(t, db.Ping())
}

// If a server accepts a connection and does not answer, opening a connection fails within the limit, with any driver.
func TestOpenOneIsBounded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, but no code answers
	require.NoError(t, err)
	defer silent.Close()
	for driverName, dsn := range map[string]string{
		"pgx":            "postgres://app@" + silent.Addr().String() + "/app?sslmode=disable",
		otherdriver.Name: "postgres://app@" + silent.Addr().String() + "/app?sslmode=disable&connect_timeout=2", // connect_timeout ends the driver's own call later
		"mysql":          "app@tcp(" + silent.Addr().String() + ")/app",
	} {
		one := OpenOne(open(t, driverName, dsn), 50*time.Millisecond)
		require.ErrorIs(t, one.PingContext(context.Background()), context.DeadlineExceeded, driverName)
		require.NoError(t, one.Close())
	}
}

// Unbounded recognises the settings of each known driver that limit how long opening a connection takes, and names
// those that are missing.
func TestUnbounded(t *testing.T) {
	t.Setenv("PGCONNECT_TIMEOUT", "")
	for _, c := range []struct{ driver, dsn, missing string }{
		{"pgx", "postgres://app@db/app", "connect_timeout"},
		{"pgx", "postgres://app@db/app?connect_timeout=5", ""},
		{"pgx", "host=db connect_timeout=5", ""},
		{"mysql", "app@tcp(db)/app", "timeout and readTimeout"},
		{"mysql", "app@tcp(db)/app?timeout=5s", "readTimeout"},
		{"mysql", "app@tcp(db)/app?readTimeout=5s", "timeout"},
		{"mysql", "app@tcp(db)/app?timeout=5s&readTimeout=30s", ""},
		{otherdriver.Name, "postgres://app@db/app", ""},
	} {
		assert.Equal(t, c.missing, Unbounded(open(t, c.driver, c.dsn)), "%s %s", c.driver, c.dsn)
	}
	config, err := pgx.ParseConfig("postgres://app@db/app")
	require.NoError(t, err)
	of := func(db *sql.DB) string {
		t.Cleanup(func() { _ = db.Close() })
		return Unbounded(db)
	}
	assert.Equal(t, "connect_timeout", of(stdlib.OpenDB(*config)))
	assert.Empty(t, of(open(t, "pgx", stdlib.RegisterConnConfig(config))), "not known")
	config.ConnectTimeout = time.Second
	assert.Empty(t, of(stdlib.OpenDB(*config)))
	pool, err := pgxpool.New(t.Context(), "postgres://app@127.0.0.1:1/app")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	lending := stdlib.OpenDBFromPool(pool)
	assert.Empty(t, of(lending))
	assert.Same(t, pool, PgxPool(lending))
	assert.Nil(t, PgxPool(open(t, "pgx", "postgres://app@db/app")))

	t.Setenv("PGCONNECT_TIMEOUT", "5")
	assert.Empty(t, of(open(t, "pgx", "postgres://app@db/app")))
}

// ReadTimeout finds the setting readTimeout of a DSN, and returns 0 for other drivers.
func TestReadTimeout(t *testing.T) {
	assert.Equal(t, 30*time.Second, ReadTimeout(open(t, "mysql", "app@tcp(db)/app?readTimeout=30s")))
	assert.Zero(t, ReadTimeout(open(t, "mysql", "app@tcp(db)/app")))
	assert.Zero(t, ReadTimeout(open(t, "pgx", "postgres://app@db/app?connect_timeout=5")))
}
