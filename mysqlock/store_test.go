package mysqlock

import (
	"context"
	"database/sql"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
)

// ttl is so long that a lease neither expires nor is renewed while a test runs.
const ttl = time.Minute

// onBoth runs test on a new database of MySQL and on one of MariaDB, in parallel.
func onBoth(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	t.Parallel()
	for name, fresh := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, fresh)
			test(t, &s)
		})
	}
}

// open makes a new connection pool. Each function in the parameter change first modifies the pool's configuration.
func (s *store) open(tb testing.TB, change ...func(*mysqldriver.Config)) *sql.DB {
	tb.Helper()
	config, err := mysqldriver.ParseDSN(s.dsn)
	require.NoError(tb, err)
	for _, c := range change {
		c(config)
	}
	return openDB(tb, config.FormatDSN())
}

// through makes a connection pool whose connections pass a new fault-injecting proxy.
func (s *store) through(tb testing.TB, change ...func(*mysqldriver.Config)) (*sql.DB, *faultproxy.Proxy) {
	tb.Helper()
	var proxy *faultproxy.Proxy
	db := s.open(tb, append(change, func(c *mysqldriver.Config) {
		var err error
		proxy, err = faultproxy.New(c.Addr)
		require.NoError(tb, err)
		c.Addr = proxy.Addr()
	})...)
	tb.Cleanup(proxy.Close)
	return db, proxy
}

// onceSent calls the function do when the server has received one more message through the proxy.
func onceSent(t *testing.T, proxy *faultproxy.Proxy, do func()) {
	t.Helper()
	before := proxy.Sent()
	go func() {
		for proxy.Sent() == before && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		do()
	}()
}

func locker(tb testing.TB, b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	tb.Helper()
	l, err := rowlock.New(b, append([]rowlock.Option{rowlock.TTL(ttl)}, opts...)...)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func acquire(tb testing.TB, l *rowlock.Locker, name string) *rowlock.Lease {
	tb.Helper()
	lease, err := l.Acquire(tb.Context(), name)
	require.NoError(tb, err)
	return lease
}

func request(name string) driver.Request {
	return driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: ttl, Holder: "tester", Note: "test"}
}

// oneSession makes a backend keep all its locks on one session. Without it, a second lock is acquired on a second session
// if the first one is in use. That may be so at any moment, because a goroutine checks each session every 100 ms.
func oneSession(db *sql.DB, opts ...Option) *Backend {
	return New(db, append(opts, Sessions(1))...)
}

func limited(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func grant(tb testing.TB, b *Backend, name string) driver.Grant {
	tb.Helper()
	g, err := b.Acquire(limited(tb), request(name))
	require.NoError(tb, err)
	tb.Cleanup(func() { // ignores the error: most grants have been released by then, and some servers cannot be reached
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = b.Release(ctx, g)
	})
	return g
}

func refused(tb testing.TB, err error) *driver.Held {
	tb.Helper()
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

// The function becomes polls until the function done returns true. It has to poll, because the server sends no
// notification.
func becomes(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		require.True(tb, time.Now().Before(end), what)
	}
}

// The method holds returns the id of the connection that holds the lock called name, or 0. It asks the server on a
// separate session.
func (s *store) holds(tb testing.TB, name string) int64 {
	tb.Helper()
	id, err := s.holder(driver.Key{Name: name})
	require.NoError(tb, err)
	return id
}

// idle checks that all connections are back in the pool, and that the backend holds, requests and waits for no lock.
func idle(tb testing.TB, b *Backend) {
	tb.Helper()
	becomes(tb, "all connections are back in the pool", func() bool { return b.db.Stats().InUse == 0 })
	require.True(tb, b.locks.Idle())
}
