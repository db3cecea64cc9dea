package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() {
	register("postgres-pgx", migrations.Postgres, mainHandle, func(t *testing.T) *store {
		return overPgx(t, postgresStore(t, ""), sharedDatabase(t, testenv.EnginePostgres))
	})
	register("postgres-repeatable-read", migrations.Postgres, otherSettings, func(t *testing.T) *store {
		return postgresStore(t, "default_transaction_isolation=repeatable%20read")
	})
	register("postgres-serializable", migrations.Postgres, otherSettings, func(t *testing.T) *store {
		return postgresStore(t, "default_transaction_isolation=serializable")
	})
	register("postgres-stdlib", migrations.Postgres, otherHandle, func(t *testing.T) *store { return postgresStore(t, "") })
	// This engine behaves as lib/pq does: database/sql converts the values, all values are sent as text, and no
	// statement is prepared.
	register("postgres-other-driver", migrations.Postgres, otherHandle, func(t *testing.T) *store {
		s := postgresStore(t, "")
		s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
			db, err := sql.Open(otherdriver.Name, with(t, sharedDatabase(t, testenv.EnginePostgres), "default_query_exec_mode=simple_protocol"))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return sqllock.Postgres(db, opts...)
		}
		return s
	})
	register("postgres-simple-protocol", migrations.Postgres, otherHandle, func(t *testing.T) *store {
		return postgresStore(t, "default_query_exec_mode=simple_protocol")
	})
	// On this engine pgx uses named prepared statements, which PgBouncer before 1.21 mixes up between sessions.
	register("postgres-pgbouncer", migrations.Postgres, otherHandle, func(t *testing.T) *store {
		s := postgresStore(t, "")
		s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.Postgres(openDB(t, sharedDatabase(t, testenv.EnginePgBouncer)), opts...)
		}
		s.zone = nil // PgBouncer accepts no time zone from a client
		return s
	})
	register("postgres-pgbouncer-pgx", migrations.Postgres, otherHandle, func(t *testing.T) *store {
		s := overPgx(t, postgresStore(t, ""), sharedDatabase(t, testenv.EnginePgBouncer))
		s.zone = nil
		return s
	})
}

// overPgx makes the backends of s use pools of pgx, which connect with dsn.
func overPgx(t *testing.T, s *store, dsn string) *store {
	t.Helper()
	s.connect = func(opts ...sqllock.Option) *sqllock.Backend {
		b := sqllock.Pgx(openPool(t, dsn), opts...)
		t.Cleanup(func() { closeIdle(b) }) // closes the additional connection, which is opened while the pool is full
		return b
	}
	return s
}

// shared is the database that most tests use, because creating and dropping a database for each test would take longer
// than the tests. Each test has tables of its own in it.
var shared struct {
	once sync.Once
	name string
	raw  *sql.DB // the pool for the tests' own statements
	err  error
}

// sharedDatabase returns the DSN with which an engine connects to the shared database.
func sharedDatabase(t *testing.T, engine string) string {
	t.Helper()
	direct := testenv.DSN(t, testenv.EnginePostgres)
	dsn := testenv.DSN(t, engine)
	shared.once.Do(func() {
		shared.name = "rowlock_" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")
		if shared.err = execOnce(direct, "CREATE DATABASE "+shared.name+" TEMPLATE template0"); shared.err != nil {
			return
		}
		atExit(func() error { return testenv.DropPostgres(direct, shared.name) })
		shared.raw, shared.err = sql.Open("pgx", inDatabase(t, direct, shared.name))
		if shared.err == nil {
			shared.raw.SetMaxIdleConns(16) // as many as tests run at the same time, so that they open no new sessions
			atExit(shared.raw.Close)
		}
	})
	require.NoError(t, shared.err)
	return inDatabase(t, dsn, shared.name)
}

func inDatabase(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Path = "/" + name
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
		raw:     shared.raw,
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
	db.SetMaxIdleConns(10) // a pool of two would open and close sessions all the time
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

// postgresTest contains a lease table in the shared database, and a backend whose statements are recorded.
type postgresTest struct {
	*store
	*sqllock.Backend

	dsn  string
	sent *recorder
}

func newPostgresTest(t *testing.T) *postgresTest {
	t.Helper()
	t.Parallel()
	return newPostgresTestWithin(t)
}

func newPostgresTestWithin(t *testing.T) *postgresTest {
	t.Helper()
	dsn := sharedDatabase(t, testenv.EnginePostgres)
	p := &postgresTest{store: overPgx(t, postgresStore(t, ""), dsn), dsn: dsn, sent: &recorder{}}
	p.table = fmt.Sprintf("t%d", tables.Add(1))
	testschema.Install(t, p.raw, migrations.Postgres, migrations.Table(p.table))
	p.Backend = p.recorded(t, p.dsn)
	return p
}

// recorded returns a backend on a pool of one connection, and records its statements in p.
func (p *postgresTest) recorded(t *testing.T, dsn string) *sqllock.Backend {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	config.MaxConns = 1
	config.ConnConfig.Tracer = p.sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return sqllock.Pgx(pool, sqllock.Table(p.table))
}

// recorder is a pgx tracer that records the statements that were sent.
type recorder struct {
	mu         sync.Mutex
	statements []pgx.TraceQueryStartData
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, data)
	return ctx
}

func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// take returns the statements that were sent since the last call.
func (r *recorder) take() []pgx.TraceQueryStartData {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.statements
	r.statements = nil
	return taken
}

func (p *postgresTest) explain(t *testing.T, how string, s pgx.TraceQueryStartData) string {
	t.Helper()
	rows, err := session(t, p.dsn).Query(t.Context(), how+" "+s.SQL, s.Args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

func (p *postgresTest) async(t *testing.T, commit string) *pgx.Conn {
	t.Helper()
	return session(t, with(t, p.dsn, "synchronous_commit="+commit))
}

// crowd is a lease table with several lockers. Each locker has a separate backend, pool and recorder, as if it were a
// separate process.
type crowd struct {
	*store

	dsn     string
	members []*member
}

type member struct {
	*rowlock.Locker

	backend *sqllock.Backend
	pool    *pgxpool.Pool
	sent    *recorder
}

// newCrowd makes a crowd with a table of its own in the shared database.
func newCrowd(t *testing.T, members int, opts ...rowlock.Option) *crowd {
	t.Helper()
	c := &crowd{store: postgresStore(t, ""), dsn: sharedDatabase(t, testenv.EnginePostgres)}
	c.table = fmt.Sprintf("t%d", tables.Add(1))
	return c.made(t, members, opts...)
}

// newCrowdAlone makes a crowd with a database of its own, for tests that count the sessions or locks of a database, or
// change the rights in it.
func newCrowdAlone(t *testing.T, members int, opts ...rowlock.Option) *crowd {
	t.Helper()
	c := &crowd{dsn: testenv.Postgres(t)}
	c.store = &store{table: "rowlock_lease", dialect: migrations.Postgres, raw: openDB(t, c.dsn)}
	return c.made(t, members, opts...)
}

func (c *crowd) made(t *testing.T, members int, opts ...rowlock.Option) *crowd {
	t.Helper()
	testschema.Install(t, c.raw, migrations.Postgres, migrations.Table(c.table))
	for range members {
		c.join(t, c.dsn, opts...)
	}
	return c
}

// hurry makes the members delete the rows of waiters that have gone sooner than usual.
func (c *crowd) hurry() {
	for _, m := range c.members {
		m.backend.SetTick(100 * time.Millisecond)
	}
}

// over returns a backend for the table of c.
func (c *crowd) over(pool *pgxpool.Pool) *sqllock.Backend {
	return sqllock.Pgx(pool, sqllock.Table(c.table))
}

// join adds a member that connects with dsn.
func (c *crowd) join(t *testing.T, dsn string, opts ...rowlock.Option) *member {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	m := &member{sent: &recorder{}}
	config.ConnConfig.Tracer = m.sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	m.pool, m.backend = pool, c.over(pool)
	m.Locker, err = rowlock.New(m.backend, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	c.members = append(c.members, m)
	return m
}

// waits returns when n processes wait.
func (c *crowd) waits(t *testing.T, n int64) {
	t.Helper()
	until(t, "the waiters are registered", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter") == n })
}

// hears waits until the connection of b listens, and until its waiters know it. For each connection that it has had, b
// may have woken its waiters twice.
func (c *crowd) hears(t *testing.T, b *sqllock.Backend, connections int) {
	t.Helper()
	heard := make(chan struct{}, 1000)
	stop, err := b.Notify(t.Context(), driver.Key{Name: "hears"}, func() { heard <- struct{}{} })
	require.NoError(t, err)
	defer stop()
	for range 2*connections + 1 {
		until(t, "it hears", func() bool {
			c.exec(t, "SELECT pg_notify(channel, id::text) FROM rowlock_lease_waiter WHERE name = 'hears' AND channel <> ''")
			return len(heard) > 0
		})
		<-heard
	}
}

// reservedFor makes reservations last for d instead of 50 ms, because on a loaded machine 50 ms may be too short for
// a test.
func (c *crowd) reservedFor(t *testing.T, d time.Duration) {
	t.Helper()
	c.exec(t, fmt.Sprintf("UPDATE rowlock_lease SET held_until = held_until + %d * interval '1 microsecond' WHERE reserved_for IS NOT NULL", d.Microseconds()))
}

// contest makes all members compete for one lock until the given number of grants is reached.
func (c *crowd) contest(t *testing.T, grants int) contest.Result {
	t.Helper()
	var lockers []*rowlock.Locker
	for _, m := range c.members {
		lockers = append(lockers, m.Locker)
	}
	return contest.Run(t, lockers, 1, grants, 3*time.Minute)
}

// passing is a contended lock. Its holder already waits for the lock again, and another process has waited longer.
type passing struct {
	*crowd

	holder, waiter *member
	held           driver.Grant
	request        driver.Request // the request that the waiter has stored in its row, so that a release may grant it
	woken          chan struct{}
}

func newPassing(t *testing.T, held driver.Request) *passing {
	t.Helper()
	p := &passing{crowd: newCrowd(t, 2), request: request("job"), woken: make(chan struct{}, 10)}
	p.holder, p.waiter = p.members[0], p.members[1]
	p.held = acquire(t, p.holder.backend, held)
	p.request.Waiting = true
	listen := func(n int64) {
		t.Helper()
		until(t, "both listen", func() bool { return p.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == n })
	}
	for _, b := range p.members { // opens the listening connections now, because opening them later would wake the waiters
		stop, err := b.backend.Notify(t.Context(), driver.Key{Name: "another"}, func() {})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	listen(2)
	for _, b := range p.members {
		p.hears(t, b.backend, 1)
	}
	for _, b := range []*member{p.waiter, p.holder} {
		stop, err := b.backend.Notify(t.Context(), p.held.Key, func() {
			if b == p.waiter {
				p.woken <- struct{}{}
			}
		})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	listen(4)
	assert.True(t, refused(t, p.waiter.backend, p.request).Pending)
	assert.Equal(t, int64(1), p.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL"))
	return p
}

func (p *passing) holds(t *testing.T, r driver.Request) bool {
	t.Helper()
	return p.int(t, "SELECT count(*) FROM rowlock_lease WHERE nonce = '"+r.Nonce.String()+"' AND expires_at > clock_timestamp()") == 1
}

// A statement records a request if it stores the request in the waiter's row, so that a release may grant it.
// afterwards is a tracer that calls its function after the reply to such a statement.
type afterwards struct{ then func() }

type asksKey struct{}

func (a afterwards) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, asksKey{}, strings.Contains(d.SQL, "queued"))
}

func (a afterwards) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if asks, _ := ctx.Value(asksKey{}).(bool); asks {
		a.then()
	}
}

// leaves makes another process acquire a contended lock, and returns the error of that attempt. When the process has
// recorded its request in its row, the method calls the given function. After that, the attempt sends its next
// statement. At the end, the method asserts that no row contains a request.
func (c *crowd) leaves(ctx context.Context, t *testing.T, then func()) error {
	t.Helper()
	holder := c.members[0].backend
	config, err := pgxpool.ParseConfig(c.dsn)
	require.NoError(t, err)
	config.ConnConfig.Tracer = afterwards{then}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b := c.over(pool)
	waiter, err := rowlock.New(b)
	require.NoError(t, err)
	for _, each := range []*sqllock.Backend{holder, b} { // keeps the process's row, as other waiting goroutines of the process would
		stop, err := each.Notify(t.Context(), driver.Key{Name: "job"}, func() {})
		require.NoError(t, err)
		t.Cleanup(stop)
	}
	until(t, "both listen", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 2 })
	require.NoError(t, holder.Release(t.Context(), acquire(t, holder, request("job"))))
	until(t, "nobody has it", func() bool {
		return c.int(t, "SELECT count(*) FROM rowlock_lease WHERE held_until <= clock_timestamp()") == 1
	})
	tx := c.begin(t)
	_, err = tx.ExecContext(t.Context(), c.sql("SELECT FROM rowlock_lease FOR UPDATE")) // makes the lock contended
	require.NoError(t, err)
	_, failure := waiter.Acquire(ctx, "job")
	require.NoError(t, waiter.Close())
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE nonce IS NOT NULL"), "requests")
	require.NoError(t, tx.Rollback())
	return failure
}
