package compat_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

const (
	// soakVariable sets how long the soak runs. Without it, the soak has one fault of each kind.
	soakVariable = "ROWLOCK_TEST_SOAK" // such as 10m

	soakPool    = 4
	soakWorkers = 6
	soakTTL     = 8 * time.Second
	// The time between two faults. After this time, the last fault can no longer be the reason for a lost lease.
	soakCalm = 2 * soakTTL
)

func init() { _ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) } // without this, the driver would log each broken connection

// An application's transactions and its locks share a small pool, while faults happen: connection resets,
// lost packets and server restarts. A lease may be lost only if the server was unreachable for at least a quarter
// of the TTL shortly before. A connection reset alone does not lose leases. At the end, every connection of the pool
// can be used. Before the next fault, the server has at most two sessions more than the pool has connections.
func TestASmallPoolIsSharedThroughFaults(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *soak{
		"pgxpool": func(t *testing.T) *soak { return soakPgx(t) },
		"pgx":     func(t *testing.T) *soak { return soakSQL(t, testserver.Postgres, "pgx", "connect_timeout=2") },
		"lib-pq":  func(t *testing.T) *soak { return soakSQL(t, testserver.Postgres, "postgres", "connect_timeout=2") },
		"mysql":   func(t *testing.T) *soak { return soakSQL(t, testserver.MySQL, "mysql", "timeout=2s&readTimeout=5s") },
		"mariadb": func(t *testing.T) *soak { return soakSQL(t, testserver.MariaDB, "mysql", "timeout=2s&readTimeout=5s") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start(t).run(t)
		})
	}
}

// soak is an application with a small pool. A fault-injecting proxy is between the application and its server.
type soak struct {
	server *testserver.Server
	proxy  *faultproxy.Proxy
	direct *sql.DB
	count  string // a query for the number of the application's sessions on the server

	backend *sqllock.Backend
	begin   func(context.Context) (transaction, error)
	inUse   func() int

	mu       sync.Mutex
	faults   []fault
	losses   []loss
	done     int // completed jobs
	failed   int // failed jobs
	granted  int
	renewed  int
	sessions int // the largest number of sessions on the server just before a fault
}

// transaction is one transaction of the application.
type transaction interface {
	work(context.Context) error
	end()
}

type fault struct {
	kind       string
	begin, end time.Time
}

type loss struct {
	at  time.Time
	err error
}

func soakServer(t *testing.T, engine string) *soak {
	t.Helper()
	testenv.DSN(t, engine)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	server, err := testserver.Start(ctx, engine, testserver.Options{Durable: true}) // flushes each commit, because no lease may be lost when the server is killed
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	proxy, err := faultproxy.New(server.Addr)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	s := &soak{server: server, proxy: proxy}
	driverName, dialect := "pgx", migrations.Postgres
	s.count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'soak'"
	if engine != testserver.Postgres {
		driverName, dialect = "mysql", migrations.MySQL
		s.count = "SELECT count(*) FROM information_schema.processlist WHERE user = 'soak'"
	}
	s.direct = open(t, driverName, server.DSN)
	s.direct.SetMaxOpenConns(1)
	require.NoError(t, migrations.Up(ctx, s.direct, dialect))
	if dialect == migrations.MySQL {
		for _, statement := range []string{"CREATE USER soak@'%'", "GRANT ALL ON *.* TO soak@'%'"} {
			_, err := s.direct.ExecContext(ctx, statement)
			require.NoError(t, err)
		}
	}
	return s
}

// address returns a DSN that leads through the proxy, with settings appended.
func (s *soak) address(t *testing.T, settings string) string {
	t.Helper()
	if s.server.Engine == testserver.Postgres {
		u, err := url.Parse(s.server.DSN)
		require.NoError(t, err)
		u.Host = s.proxy.Addr()
		query, err := url.ParseQuery(u.RawQuery + "&application_name=soak&" + settings)
		require.NoError(t, err)
		u.RawQuery = query.Encode()
		return u.String()
	}
	config, err := mysqldriver.ParseDSN(s.server.DSN)
	require.NoError(t, err)
	config.Addr, config.User = s.proxy.Addr(), "soak"
	dsn := config.FormatDSN()
	if strings.Contains(dsn, "?") {
		return dsn + "&" + settings
	}
	return dsn + "?" + settings
}

func soakPgx(t *testing.T) *soak {
	t.Helper()
	s := soakServer(t, testserver.Postgres)
	config, err := pgxpool.ParseConfig(s.address(t, "connect_timeout=2"))
	require.NoError(t, err)
	config.MaxConns = soakPool
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s.backend = sqllock.Pgx(pool)
	s.begin = func(ctx context.Context) (transaction, error) {
		tx, err := pool.Begin(ctx)
		return pgxTransaction{tx}, err
	}
	s.inUse = func() int { return int(pool.Stat().AcquiredConns() + pool.Stat().ConstructingConns()) }
	return s
}

type pgxTransaction struct{ tx pgx.Tx }

func (p pgxTransaction) work(ctx context.Context) error {
	_, err := p.tx.Exec(ctx, "SELECT 1")
	return err
}

func (p pgxTransaction) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.tx.Rollback(ctx)
}

func soakSQL(t *testing.T, engine, driverName, settings string) *soak {
	t.Helper()
	s := soakServer(t, engine)
	db := open(t, driverName, s.address(t, settings))
	db.SetMaxOpenConns(soakPool)
	s.backend = sqllock.Postgres(db)
	if driverName == "mysql" {
		s.backend = sqllock.MySQL(db)
	}
	s.begin = func(ctx context.Context) (transaction, error) {
		tx, err := db.BeginTx(ctx, nil)
		return sqlTransaction{tx}, err
	}
	s.inUse = func() int { return db.Stats().InUse }
	return s
}

type sqlTransaction struct{ tx *sql.Tx }

func (s sqlTransaction) work(ctx context.Context) error {
	_, err := s.tx.ExecContext(ctx, "SELECT 1")
	return err
}

func (s sqlTransaction) end() { _ = s.tx.Rollback() }

func (s *soak) run(t *testing.T) {
	t.Helper()
	length := time.Duration(0)
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		require.NoError(t, err, soakVariable)
	}
	locker, err := rowlock.New(s.backend, rowlock.TTL(soakTTL), rowlock.Tracing(&rowlock.Trace{
		Acquired: func(rowlock.AcquiredEvent) { s.note(func() { s.granted++ }) },
		Renewed:  func(rowlock.RenewedEvent) { s.note(func() { s.renewed++ }) },
		Lost: func(e rowlock.LostEvent) {
			at, err := time.Now(), context.Cause(e.Context)
			s.note(func() { s.losses = append(s.losses, loss{at, err}) })
		},
	}))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	for i := range soakWorkers {
		workers.Go(func() { s.works(ctx, locker, i) })
	}
	s.calm(t, soakTTL)
	for began := time.Now(); len(s.faults) < 3 || time.Since(began) < length; {
		s.inflict(t, len(s.faults)%3)
		s.calm(t, soakCalm)
	}
	stop()
	workers.Wait()
	_ = locker.Close() // ignores the error of a lease whose release has failed before
	t.Logf("%s", s)
	for _, l := range s.losses {
		assert.True(t, s.excused(l), "lost %s after %s, but not to the network: %v", l.at.Sub(s.lastBefore(l).end), s.lastBefore(l).kind, l.err)
	}
	assert.NotZero(t, s.done, "no job was completed")
	s.free(t)
}

func (s *soak) note(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}

// works runs jobs until ctx ends. Each job is a transaction under a lock. Half of the jobs take longer than the TTL, so
// their leases must be renewed. The number of lock names is the size of the pool. So transactions under locks can use
// all connections of the pool. Two workers compete for some of the names.
func (s *soak) works(ctx context.Context, locker *rowlock.Locker, i int) {
	for ctx.Err() == nil {
		err := locker.Do(ctx, fmt.Sprintf("job %d", i%soakPool), func(ctx context.Context, _ *rowlock.Lease) error { return s.job(ctx) })
		s.note(func() {
			if err == nil {
				s.done++
			} else {
				s.failed++
			}
		})
		if err != nil {
			rest(ctx, 50*time.Millisecond)
		}
	}
}

func (s *soak) job(ctx context.Context) error {
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.end()
	if err := tx.work(ctx); err != nil {
		return err
	}
	rest(ctx, soakTTL*3/4+rand.N(soakTTL/2))
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return tx.work(bounded)
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// inflict causes one fault, and returns when the network and the server work again.
func (s *soak) inflict(t *testing.T, kind int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	f := fault{begin: time.Now()}
	switch kind {
	case 0:
		f.kind = "reset"
		s.proxy.Reset()
	case 1:
		f.kind = "black hole"
		s.proxy.Cut()
		time.Sleep(soakTTL/4 + rand.N(soakTTL))
		s.proxy.Restore()
	default:
		f.kind = "restart"
		if rand.N(2) == 0 {
			s.server.Kill()
		}
		require.NoError(t, s.server.Restart(ctx))
	}
	f.end = time.Now()
	s.note(func() { s.faults = append(s.faults, f) })
}

// calm waits for the time length. The server may have more than soakPool + 2 sessions for a moment only, for example
// until it has ended the sessions of broken connections. MySQL notices only after five seconds that the connection of
// a sleeping session is broken.
func (s *soak) calm(t *testing.T, length time.Duration) {
	t.Helper()
	const most, moment = soakPool + 2, 10 * time.Second
	n, few := most+1, time.Now() // few is when the server last had no more sessions than most
	for end := time.Now().Add(length); time.Now().Before(end) || n > most; {
		err := s.direct.QueryRow(s.count).Scan(&n)
		if err != nil { // after a restart, the first query may fail because it uses an old connection
			n = most + 1
		}
		if n <= most {
			few = time.Now()
		}
		require.Less(t, time.Since(few), moment, "the server has %d sessions: %v", n, err)
		time.Sleep(50 * time.Millisecond) // polls, because there is no event to wait for
	}
	s.sessions = max(s.sessions, n)
}

// excused reports whether a fault explains the lost lease. A fault explains the loss if it lasted at least a quarter of
// the TTL, and if it ended at most one TTL before the loss or was still going on.
func (s *soak) excused(l loss) bool {
	for _, f := range s.faults {
		if f.begin.Before(l.at) && f.end.After(l.at.Add(-soakTTL)) && f.end.Sub(f.begin) >= soakTTL/4 {
			return true
		}
	}
	return false
}

// lastBefore returns the last fault that began before l.
func (s *soak) lastBefore(l loss) (last fault) {
	for _, f := range s.faults {
		if f.begin.Before(l.at) {
			last = f
		}
	}
	return last
}

// free waits until all connections of the pool are idle, and then checks that all of them work at the same time.
func (s *soak) free(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return s.inUse() == 0 }, 30*time.Second, 10*time.Millisecond, "a connection of the pool is never returned")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var held []transaction
	for range soakPool {
		tx, err := s.begin(ctx)
		require.NoError(t, err, "a connection of the pool is never returned")
		held = append(held, tx)
	}
	for _, tx := range held {
		assert.NoError(t, tx.work(ctx))
		tx.end()
	}
}

func (s *soak) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds, taken := map[string]int{}, map[string]int{}
	for _, f := range s.faults {
		kinds[f.kind]++
	}
	for _, l := range s.losses {
		taken[s.lastBefore(l).kind]++
	}
	return fmt.Sprintf("%d faults (%v), %d leases, %d renewals, %d lost (%v), %d jobs done and %d not, at most %d sessions for a pool of %d",
		len(s.faults), kinds, s.granted, s.renewed, len(s.losses), taken, s.done, s.failed, s.sessions, soakPool)
}
