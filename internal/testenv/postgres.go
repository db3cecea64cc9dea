package testenv

import (
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the DSN of a fresh, empty database, which is dropped when the test ends.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return withDatabase(tb, DSN(tb, EnginePostgres), freshPostgres(tb))
}

// PgBouncer returns two DSNs of the same fresh, empty database: one through PgBouncer in transaction mode,
// and one that connects directly.
func PgBouncer(tb testing.TB) (pooled, direct string) {
	tb.Helper()
	return throughPgBouncer(tb, EnginePgBouncer)
}

// NewPgBouncer does the same as PgBouncer, with a newer version that supports prepared statements in transaction
// mode.
func NewPgBouncer(tb testing.TB) (pooled, direct string) {
	tb.Helper()
	return throughPgBouncer(tb, EngineNewPgBouncer)
}

func throughPgBouncer(tb testing.TB, engine string) (pooled, direct string) {
	tb.Helper()
	pooled = DSN(tb, engine)
	direct = DSN(tb, EnginePostgres)
	name := freshPostgres(tb)
	return withDatabase(tb, pooled, name), withDatabase(tb, direct, name)
}

// PostgresEncoded returns the DSN of a fresh, empty database with the given encoding, dropped when the test ends.
func PostgresEncoded(tb testing.TB, encoding string) string {
	tb.Helper()
	name := makePostgres(tb, " ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'")
	return withDatabase(tb, DSN(tb, EnginePostgres), name)
}

// freshPostgres creates a database for each test. A schema would not be enough: PgBouncer accepts no search_path
// from a client, and tests in one database would share advisory locks and notifications.
func freshPostgres(tb testing.TB) string {
	tb.Helper()
	return makePostgres(tb, "")
}

func makePostgres(tb testing.TB, options string) string {
	tb.Helper()
	name, dsn := freshName(), DSN(tb, EnginePostgres)
	if err := execPostgres(dsn, "CREATE DATABASE "+name+" TEMPLATE template0"+options); err != nil {
		tb.Fatalf("create a Postgres database: %v", err)
	}
	tb.Cleanup(func() {
		if err := DropPostgres(dsn, name); err != nil {
			tb.Errorf("drop a Postgres database: %v", err)
		}
	})
	return name
}

// DropPostgres closes the connections that a test or PgBouncer's pool has left open, and drops the database. PostgreSQL 12
// cannot do both in one statement.
func DropPostgres(dsn, name string) error {
	return execPostgres(dsn,
		"ALTER DATABASE "+name+" ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'",
		"DROP DATABASE "+name)
}

// administrator keeps one session open for each server, by DSN. A session for each database that a test creates or drops
// would be a third of all sessions.
var administrator = struct {
	sync.Mutex
	sessions map[string]*pgx.Conn
}{sessions: map[string]*pgx.Conn{}}

// execPostgres runs statements one after the other in the administrator's session.
func execPostgres(dsn string, statements ...string) error {
	administrator.Lock()
	defer administrator.Unlock()
	ctx, cancel := bounded()
	defer cancel()
	conn := administrator.sessions[dsn]
	if conn == nil || conn.IsClosed() {
		var err error
		if conn, err = pgx.Connect(ctx, dsn); err != nil {
			return err
		}
		administrator.sessions[dsn] = conn
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

func withDatabase(tb testing.TB, dsn, name string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		tb.Fatalf("not a postgres:// URL: %q", dsn)
	}
	u.Path = "/" + name
	return u.String()
}
