package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() {
	register("postgres-stdlib", func(t *testing.T) *store { return postgresStore(t, "") })
	register("postgres-pgx", func(t *testing.T) *store {
		s := postgresStore(t, "")
		s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.Pgx(openPool(t, sharedDatabase(t, testenv.EnginePostgres)), opts...)
		}
		return s
	})
	// This engine behaves as lib/pq does: database/sql converts the values, all values are sent as text, and no
	// statement is prepared.
	register("postgres-other-driver", func(t *testing.T) *store {
		s := postgresStore(t, "")
		s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
			db, err := sql.Open(otherdriver.Name, with(t, sharedDatabase(t, testenv.EnginePostgres), "default_query_exec_mode=simple_protocol"))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return sqllock.Postgres(db, opts...)
		}
		return s
	})
	register("postgres-simple-protocol", func(t *testing.T) *store {
		return postgresStore(t, "default_query_exec_mode=simple_protocol")
	})
	register("postgres-repeatable-read", func(t *testing.T) *store {
		return postgresStore(t, "default_transaction_isolation=repeatable%20read")
	})
	register("postgres-serializable", func(t *testing.T) *store {
		return postgresStore(t, "default_transaction_isolation=serializable")
	})
	// On this engine pgx uses named prepared statements, which PgBouncer before 1.21 mixes up between sessions.
	register("postgres-pgbouncer", func(t *testing.T) *store {
		s := postgresStore(t, "")
		s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.Postgres(openDB(t, sharedDatabase(t, testenv.EnginePgBouncer)), opts...)
		}
		s.zone = nil // PgBouncer accepts no time zone from a client
		return s
	})
	register("postgres-pgbouncer-pgx", func(t *testing.T) *store {
		s := postgresStore(t, "")
		s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.Pgx(openPool(t, sharedDatabase(t, testenv.EnginePgBouncer)), opts...)
		}
		s.zone = nil
		return s
	})
}

// shared is the database that all tests of eachBackend use, because creating and dropping a database for each test
// would take longer than the tests.
var shared struct {
	once sync.Once
	name string
	err  error
}

// sharedDatabase returns the DSN with which an engine connects to the shared database.
func sharedDatabase(t *testing.T, engine string) string {
	t.Helper()
	direct := testenv.DSN(t, testenv.EnginePostgres)
	dsn := testenv.DSN(t, engine)
	shared.once.Do(func() {
		shared.name = "rowlock_" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")
		shared.err = execOnce(direct, "CREATE DATABASE "+shared.name+" TEMPLATE template0")
		atExit = append(atExit, func() error {
			return testenv.DropPostgres(direct, shared.name)
		})
	})
	require.NoError(t, shared.err)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Path = "/" + shared.name
	return u.String()
}

func execOnce(dsn, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// postgresStore returns a store whose backends use database/sql. The value of parameter is added to their DSN.
func postgresStore(t *testing.T, parameter string) *store {
	t.Helper()
	dsn := sharedDatabase(t, testenv.EnginePostgres)
	return &store{
		dialect: migrations.Postgres,
		raw:     openDB(t, dsn),
		age:     "UPDATE %[1]s SET %[2]s = %[2]s - %[3]d * interval '1 microsecond'",
		connect: func(opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.Postgres(openDB(t, with(t, dsn, parameter)), opts...)
		},
		zone: func(offset string, opts ...sqllock.Option) *sqllock.Backend {
			// POSIX time zones have the opposite sign: UTC-9 is nine hours ahead of UTC.
			zone := "UTC" + map[byte]string{'+': "-", '-': "+"}[offset[0]] + strings.TrimPrefix(offset[1:3], "0")
			return sqllock.Postgres(openDB(t, with(t, dsn, "timezone="+url.QueryEscape(zone))), opts...)
		},
	}
}

func with(t *testing.T, dsn, parameter string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	if parameter != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+parameter, "&")
	}
	return u.String()
}

func openDB(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func openPool(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// session opens a connection for statements that must not go through a pool.
func session(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}
