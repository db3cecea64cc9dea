package mysqlock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
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

func TestMain(m *testing.M) {
	_ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) // ignores the driver's log message about each connection that is reset
	leaks.Main(stopping{m})
}

// stopping stops the package's own servers after all tests.
type stopping struct{ *testing.M }

func (m stopping) Run() int {
	defer func() {
		for _, o := range owned {
			if o.server != nil {
				o.server.Stop()
			}
		}
	}()
	return m.M.Run()
}

// owned contains the servers of this package alone, for the tests that restart a server or change its settings. Each is
// started once, because starting a server takes longer than these tests.
var owned = map[string]*ownedServer{testserver.MySQL: {}, testserver.MariaDB: {}}

type ownedServer struct {
	mu     sync.Mutex // held by the test that uses the server
	server *testserver.Server
}

// store is a new database with the tables, and a separate handle with which the test reads which locks the server
// holds.
type store struct {
	dsn     string
	mariadb bool
	raw     *sql.DB
	schema  string
}

func newStore(tb testing.TB, fresh func(testing.TB) string) store {
	tb.Helper()
	dsn := fresh(tb)
	raw := openDB(tb, dsn)
	testschema.Install(tb, raw, migrations.MySQL)
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(tb, err)
	s := store{dsn: dsn, raw: raw, schema: config.DBName}
	require.NoError(tb, raw.QueryRow("SELECT VERSION() LIKE '%MariaDB%'").Scan(&s.mariadb))
	return s
}

func openDB(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() }) // returns an error because a test has broken connections
	return db
}

// holder returns the id of the connection that holds key, or 0. It asks the server on a separate session.
func (s *store) holder(key driver.Key) (id int64, err error) {
	err = s.raw.QueryRow("SELECT COALESCE(IS_USED_LOCK(?), 0)", LockName(s.schema, key.Namespace, key.Name)).Scan(&id)
	return id, err
}

// kill ends the connection that holds key.
func (s *store) kill(key driver.Key) error {
	id, err := s.holder(key)
	if err != nil || id == 0 {
		return err
	}
	if _, err := s.raw.Exec(fmt.Sprintf("KILL CONNECTION %d", id)); err != nil {
		return err
	}
	for now := id; now == id && err == nil; { // polls, because the server does not notify other clients when a connection ends
		now, err = s.holder(key)
	}
	return err
}

// soon is the limit within which the end of a connection must be noticed. The backend checks every 100 ms, but the
// machine may be busy. The limit is much shorter than a heartbeat interval.
const soon = 10 * time.Second

// The function lost waits until the lease is lost. It checks that the loss happens within the time limit, and for the
// expected reason.
func lost(t *testing.T, lease *rowlock.Lease, limit time.Duration, reason rowlock.LostReason) {
	t.Helper()
	began := time.Now()
	select {
	case <-lease.Context().Done():
	case <-time.After(limit):
		require.Fail(t, "the lease is still trusted")
	}
	t.Logf("noticed within %s", time.Since(began).Round(time.Millisecond))
	var lost *rowlock.LostError
	require.ErrorAs(t, context.Cause(lease.Context()), &lost)
	assert.Equal(t, reason, lost.Reason)
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
}

// own returns the package's own server of an engine, which no other test uses until t ends.
func own(t *testing.T, engine string) *testserver.Server {
	t.Helper()
	testenv.DSN(t, engine) // skips the test if the server's programs are not installed
	o := owned[engine]
	o.mu.Lock()
	t.Cleanup(o.mu.Unlock)
	if o.server == nil {
		server, err := testserver.Start(context.Background(), engine, testserver.Options{})
		require.NoError(t, err)
		o.server = server
		testschema.Install(t, openDB(t, server.DSN), migrations.MySQL)
	}
	return o.server
}

// waitFor calls the method Await of b in a goroutine. It returns when the request is in the server's queue.
func (s *store) waitFor(t *testing.T, ctx context.Context, b *Backend, r driver.Request) (got chan driver.Grant, failed chan error) {
	t.Helper()
	got, failed = contest.Queue(ctx, b, r)
	becomes(t, "the server has a waiter", s.hasWaiter(t))
	return got, failed
}

// inGetLock matches the state of a session that waits in GET_LOCK. The words of MySQL and MariaDB differ.
var inGetLock = regexp.MustCompile("(?i)user.*lock")

func (s *store) hasWaiter(t *testing.T) func() bool {
	return func() bool {
		return slices.ContainsFunc(testenv.Sessions(t, s.raw), func(other testenv.Session) bool {
			return other.Database == s.schema && strings.Contains(other.Statement, "GET_LOCK") && inGetLock.MatchString(other.State)
		})
	}
}

// The method as creates a database user with only the privileges in grants. It returns a function that configures
// connections for that user.
func (s *store) as(t *testing.T, grants ...string) func(*mysqldriver.Config) {
	t.Helper()
	user := "u" + driver.NewNonce().String()[:8]
	exec := func(statement string) {
		_, err := s.raw.Exec(statement)
		require.NoError(t, err, statement)
	}
	exec(fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'Secret-1'", user))
	t.Cleanup(func() { exec(fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	for _, g := range grants {
		exec(fmt.Sprintf("GRANT %s TO '%s'@'%%'", fmt.Sprintf(g, s.schema), user))
	}
	return func(c *mysqldriver.Config) { c.User, c.Passwd = user, "Secret-1" }
}

// unlock releases the lock called name on b's connection. The backend does not know about it.
func (s *store) unlock(t *testing.T, b *Backend, name string) {
	t.Helper()
	se := b.locks.Sessions()[0].(*session)
	require.NoError(t, se.Take(t.Context()))
	require.NoError(t, se.Run(t.Context(), nil, func(ctx context.Context) error {
		var n sql.NullInt64
		err := se.query(ctx, "unlock", []any{LockName(s.schema, "", name)}, &n)
		if err == nil && n.Int64 != 1 {
			err = errors.New("the session did not have the lock")
		}
		return err
	}))
}
