package advisory_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
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

func (w watcher) locks() int { w.tb.Helper(); return w.number("SELECT count(*)" + here) }

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

// eachPool runs test with a backend over a pgx pool. In a test of "make compat", it runs test with backends over
// database/sql: with pgx's driver, and with a driver that exposes neither its socket nor contexts. The function open makes
// such a backend for a DSN. TestCompatPools lists the tests that call eachPool.
func eachPool(t *testing.T, test func(t *testing.T, open func(dsn string, opts ...advisory.Option) *advisory.Backend)) {
	t.Helper()
	t.Parallel()
	compat := inCompat(t)
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
		if compat == (name == "pgx") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if compat {
				testenv.Compat(t)
			}
			t.Parallel()
			test(t, func(dsn string, opts ...advisory.Option) *advisory.Backend { return open(t, dsn, opts) })
		})
	}
}

// inCompat reports whether t is a test of "make compat".
func inCompat(t *testing.T) bool { return strings.HasPrefix(t.Name(), "TestCompat") }

func TestMain(m *testing.M) { leaks.Main(stopping{m}) }

// stopping stops the package's own server after all tests.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	defer func() {
		if own.server != nil {
			own.server.Stop()
		}
	}()
	return m.M.Run()
}

// own is a server of this package alone, for the tests that restart, promote or suspend it. It is started once, because
// starting a server takes longer than these tests.
var own struct {
	mu     sync.Mutex // held by the test that uses the server
	server *testserver.Server
}

// ownServer returns the package's own server, which no other test uses until t ends.
func ownServer(t *testing.T) *testserver.Server {
	t.Helper()
	testenv.DSN(t, testenv.EnginePostgres) // skips the test if the server's programs are not installed
	own.mu.Lock()
	t.Cleanup(own.mu.Unlock)
	if own.server == nil {
		server, err := testserver.Start(context.Background(), testserver.Postgres, testserver.Options{})
		require.NoError(t, err)
		own.server = server
		migrate(t, server.DSN)
	}
	return own.server
}

type opener func(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error)

func openPgx(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error) {
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		return nil, nil, err
	}
	return advisory.New(pool, opts...), pool.Close, nil
}

func openSQL(driverName string) opener {
	return func(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error) {
		db, err := sql.Open(driverName, dsn)
		return advisory.NewDB(db, opts...), func() { _ = db.Close() }, err
	}
}

// database makes a database with the sequence of tokens, and returns its DSN.
func database(tb testing.TB) string {
	tb.Helper()
	dsn := testenv.Postgres(tb)
	migrate(tb, dsn)
	return dsn
}

func migrate(tb testing.TB, dsn string) {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(tb, err)
	defer db.Close()
	testschema.Install(tb, db, migrations.Postgres)
}

func openDB(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// through starts a proxy in front of the database of dsn, and returns the DSN that leads through the proxy.
func through(dsn string) (string, *faultproxy.Proxy, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", nil, err
	}
	p, err := faultproxy.New(u.Host)
	if err != nil {
		return "", nil, err
	}
	u.Host = p.Addr()
	return u.String(), p, nil
}

const holdersOf = here + " AND (classid::bigint << 32) | objid::bigint = $1"

func terminate(ctx context.Context, db *sql.DB, key int64) error {
	if _, err := db.ExecContext(ctx, "SELECT pg_terminate_backend(pid)"+holdersOf, key); err != nil {
		return err
	}
	for {
		left := 0
		if err := db.QueryRowContext(ctx, "SELECT count(*)"+holdersOf, key).Scan(&left); err != nil || left == 0 {
			return err
		}
		time.Sleep(time.Millisecond) // polls, because the server does not notify other clients when a session ends
	}
}

// unfit checks that b refuses to lock, with a permanent error that contains each text in the parameter why, and that b
// holds no lock.
func unfit(t *testing.T, b *advisory.Backend, why ...string) {
	t.Helper()
	g, err := b.Acquire(t.Context(), request("a"))
	if err == nil {
		_ = b.Release(t.Context(), g) // a lock that is not released keeps a connection, and the pool could not be closed
	}
	require.Error(t, err)
	assert.True(t, driver.IsPermanent(err), "%v", err)
	for _, text := range why {
		require.ErrorContains(t, err, text)
	}
	_, err = locker(t, b).TryAcquire(t.Context(), "a")
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
}

// soon is the limit within which the end of a connection must be noticed. The limit is long enough for a busy machine,
// and shorter than a heartbeat interval.
const soon = 15 * time.Second

// lostWithin waits until the lease is lost. It checks that this happened less than limit after began,
// and for the expected reason. Pass anyReason if a heartbeat may notice the loss first,
// because it reports another reason.
func lostWithin(t *testing.T, lease *rowlock.Lease, began time.Time, limit time.Duration, reason rowlock.LostReason) {
	t.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(limit + 20*time.Second):
		require.Fail(t, "the lease is still trusted")
	}
	took := time.Since(began)
	assert.Less(t, took, limit)
	var lost *rowlock.LostError
	require.ErrorAs(t, context.Cause(lease.Context()), &lost)
	if reason != anyReason {
		assert.Equal(t, reason, lost.Reason)
	}
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
}

const anyReason rowlock.LostReason = 0

// sessionPooler starts a PgBouncer in session mode in front of the test server, and returns its address.
func sessionPooler(tb testing.TB, engine string) string {
	tb.Helper()
	testenv.DSN(tb, engine) // skips the test if the program is not installed
	pooler, err := testserver.Start(tb.Context(), engine, testserver.Options{
		Postgres: testenv.DSN(tb, testenv.EnginePostgres), SessionPooling: true,
	})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		if err := pooler.Ended(); err != nil {
			tb.Error(err)
		}
		pooler.Stop()
	})
	return pooler.Addr
}

// The function by returns dsn with addr as its address.
func by(tb testing.TB, addr, dsn string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	require.NoError(tb, err)
	u.Host = addr
	return u.String()
}

// waitFor starts an Await of b in a goroutine, and returns when the server has a waiter in its queue.
func (w watcher) waitFor(ctx context.Context, b *advisory.Backend, r driver.Request) (got chan driver.Grant, failed chan error) {
	w.tb.Helper()
	got, failed = contest.Queue(ctx, b, r)
	w.becomes("the server has a waiter", w.hasWaiter)
	return got, failed
}

func (w watcher) hasWaiter() bool { return w.number("SELECT count(*)"+here+" AND NOT granted") > 0 }

func limited(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

func refusal(tb testing.TB, err error) *driver.Held {
	tb.Helper()
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}
