package advisory_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/otherdriver"
)

// ttl is the TTL of leases that must not expire while a test runs.
const ttl = time.Minute

func request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: ttl, Holder: "tester", Note: "test"}
}

func openPool(tb testing.TB, dsn string, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(tb, err)
	for _, c := range change {
		c(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

func conns(n int32) func(*pgxpool.Config) { return func(c *pgxpool.Config) { c.MaxConns = n } }

func locker(tb testing.TB, b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	tb.Helper()
	l, err := rowlock.New(b, append([]rowlock.Option{rowlock.TTL(ttl)}, opts...)...)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// reading returns a request for a share.
func reading(name string) driver.Request {
	r := request(name)
	r.Shared = true
	return r
}

func acquire(tb testing.TB, b driver.Backend, name string) driver.Grant {
	tb.Helper()
	return grant(tb, b, request(name))
}

func share(tb testing.TB, b driver.Backend, name string) driver.Grant {
	tb.Helper()
	return grant(tb, b, reading(name))
}

func grant(tb testing.TB, b driver.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	g, err := b.Acquire(tb.Context(), r)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = b.Release(context.Background(), g) }) // a pgx pool closes only when all connections are back
	return g
}

func refused(tb testing.TB, b driver.Backend, name string) *driver.Held {
	tb.Helper()
	return refuse(tb, b, request(name))
}

func refuse(tb testing.TB, b driver.Backend, r driver.Request) *driver.Held {
	tb.Helper()
	g, err := b.Acquire(tb.Context(), r)
	if err == nil {
		_ = b.Release(tb.Context(), g) // returns the connection, because the pool cannot be closed before that
	}
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

// watcher reads what the server holds, on a session of its own.
type watcher struct {
	tb testing.TB
	db *sql.DB
}

func watch(tb testing.TB, dsn string) watcher {
	tb.Helper()
	return watcher{tb, openDB(tb, dsn)}
}

func (w watcher) number(query string, args ...any) (n int) {
	w.tb.Helper()
	require.NoError(w.tb, w.db.QueryRowContext(w.tb.Context(), query, args...).Scan(&n), query)
	return n
}

const here = " FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

func (w watcher) locks() int    { w.tb.Helper(); return w.number("SELECT count(*)" + here) }
func (w watcher) sessions() int { w.tb.Helper(); return w.number("SELECT count(DISTINCT pid)" + here) }

// becomes polls until the function done returns true. The server sends no notification.
func (w watcher) becomes(what string, done func() bool) {
	w.tb.Helper()
	require.Eventually(w.tb, done, time.Minute, 5*time.Millisecond, what)
}

func (w watcher) terminate(name string) {
	w.tb.Helper()
	require.NoError(w.tb, terminate(w.tb.Context(), w.db, advisory.Key("", name)))
}

// eachPool runs test with backends of both kinds of pool. The function open makes such a backend for a DSN.
func eachPool(t *testing.T, test func(t *testing.T, open func(dsn string, opts ...advisory.Option) *advisory.Backend)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, dsn string, opts []advisory.Option) *advisory.Backend{
		"pgx": func(t *testing.T, dsn string, opts []advisory.Option) *advisory.Backend {
			return advisory.New(openPool(t, dsn), opts...)
		},
		"stdlib": func(t *testing.T, dsn string, opts []advisory.Option) *advisory.Backend {
			return advisory.NewDB(openDB(t, dsn), opts...)
		},
		"another-driver": func(t *testing.T, dsn string, opts []advisory.Option) *advisory.Backend {
			db, err := sql.Open(otherdriver.Name, dsn)
			require.NoError(t, err)
			t.Cleanup(func() { _ = db.Close() })
			return advisory.NewDB(db, opts...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(dsn string, opts ...advisory.Option) *advisory.Backend { return open(t, dsn, opts) })
		})
	}
}
