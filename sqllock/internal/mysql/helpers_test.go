package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func on(db *sql.DB) *Backend { return New(db, table(sqltable.Default)) }

func table(name string) sqltable.Table {
	t, err := sqltable.Parse(name)
	if err != nil {
		panic(err)
	}
	return t
}

// inTx locks the name in tx, and waits for at most the duration wait, which is 0 by default.
func inTx(ctx context.Context, b *Backend, tx *sql.Tx, name string, wait ...time.Duration) error {
	var patience time.Duration
	for _, d := range wait {
		patience += d
	}
	return sqlbase.LockInTx(ctx, b, sqlbase.On(tx), driver.Key{Name: name}, patience)
}

// fixture is a new database with the tables, on MySQL or MariaDB.
type fixture struct {
	dsn     string
	mariadb bool
	db      *sql.DB
	*Backend
}

// onMySQLAndMariaDB runs a test on both servers at the same time.
func onMySQLAndMariaDB(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for name := range fresh {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(t.Name(), "TestCompat") {
				testenv.Compat(t)
			}
			t.Parallel()
			test(t, newFixture(t, name))
		})
	}
}

// fresh makes a new database on each server.
var fresh = map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB}

func newFixture(t *testing.T, server string) *fixture {
	t.Helper()
	f := &fixture{dsn: fresh[server](t), mariadb: server == "mariadb"}
	f.db = f.open(t, nil)
	f.Backend = on(f.db)
	testschema.Install(t, f.db, migrations.MySQL)
	return f
}

// another returns a new database with the tables on the same server.
func (f *fixture) another(t *testing.T) *fixture {
	t.Helper()
	if f.mariadb {
		return newFixture(t, "mariadb")
	}
	return newFixture(t, "mysql")
}

// open returns a pool. The parameters in params are added to its DSN: parameters of the driver and session variables.
func (f *fixture) open(t testing.TB, params map[string]string) *sql.DB {
	t.Helper()
	dsn := f.dsn
	for name, value := range params {
		separator := "?"
		if strings.Contains(dsn, "?") {
			separator = "&"
		}
		dsn += separator + name + "=" + url.QueryEscape(value)
	}
	_, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// isolation returns the parameter that sets the session's isolation level.
func (f *fixture) isolation(level string) map[string]string {
	name := "transaction_isolation"
	if f.mariadb {
		name = "tx_isolation" // the variable's name until MariaDB 11.1
	}
	return map[string]string{name: "'" + level + "'"}
}

// strict adds the parameter that makes MariaDB refuse to lock rows newer than the snapshot, as it does by default from
// 11.6.2 on.
func (f *fixture) strict(level string) map[string]string {
	params := f.isolation(level)
	if f.mariadb {
		params["innodb_snapshot_isolation"] = "1"
	}
	return params
}

var isolations = []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"}

func (f *fixture) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := f.db.ExecContext(limited(t), statement, args...)
	require.NoError(t, err, statement)
}

func (f *fixture) int(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, f.db.QueryRowContext(limited(t), query, args...).Scan(&n), query)
	return n
}

// whileLocked runs the statement in a transaction, and calls the function do while that transaction holds its row
// locks.
func (f *fixture) whileLocked(t testing.TB, statement string, do func()) {
	t.Helper()
	tx, err := f.db.BeginTx(limited(t), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(limited(t), statement)
	require.NoError(t, err, statement)
	do()
	require.NoError(t, tx.Rollback())
}

// limited returns a context that ends later than any successful call, and earlier than the 50 s for which the servers
// wait for a row by default.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// atOnce calls the function do. It fails the test if the call takes twenty seconds or more, as a call that waits for
// another transaction would. A refused call itself may wait for a second or two.
func atOnce(t testing.TB, do func()) {
	t.Helper()
	start := time.Now()
	do()
	assert.Less(t, time.Since(start), 20*time.Second, "it has waited for a lock")
}

func request(name string) driver.Request {
	return driver.Request{
		Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: time.Minute, Holder: "host:1", Note: "a test",
	}
}

func mustAcquire(t testing.TB, b driver.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.Acquire(limited(t), r)
	require.NoError(t, err)
	return g
}

func requireHeld(t testing.TB, err error, reason driver.Reason) *driver.Held {
	t.Helper()
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	require.Equal(t, reason, held.Reason, "%v", err)
	return held
}

// If the server cannot be reached, the backend does not know its type, and the next call tries to detect the type.
func TestMySQLAsksForTheVersionAgainAfterAFailure(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := f.Acquire(ended, request("a"))
		require.ErrorIs(t, err, context.Canceled)
		assert.True(t, driver.IsNotApplied(err) && !driver.IsPermanent(err))
		mustAcquire(t, f, request("a"))
	})
}

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(limited(t), nil)
	require.NoError(t, err)
	return tx
}

// fill inserts n held locks, whose names are the numbers from 1 to n in hexadecimal.
func (f *fixture) fill(t testing.TB, n int) {
	f.Exec(t, "CREATE TABLE digits (d INT)")
	f.Exec(t, "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	f.Exec(t, `INSERT INTO rowlock_lease (namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)
		SELECT 'full', LPAD(HEX(n), 8, '0'), 1, '00000000-0000-4000-8000-000000000000', '', '', UTC_TIMESTAMP(6),
		       UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR
		  FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 1 AS n
		          FROM digits AS a, digits AS b, digits AS c, digits AS d, digits AS e) AS numbers
		 WHERE n <= ?`, n)
	f.Exec(t, "ANALYZE TABLE rowlock_lease")
}

// executed returns how many prepared statements the only connection of db has executed.
func executed(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	var name string
	require.NoError(t, db.QueryRowContext(limited(t), "SHOW SESSION STATUS LIKE 'Com_stmt_execute'").Scan(&name, &n))
	return n
}

// waits makes b wait for the lock of r. It sends a refused request, which adds b to the end of the queue.
func waits(t *testing.T, b *Backend, r driver.Request) (held *driver.Held, stop func()) {
	t.Helper()
	t.Cleanup(func() { dies(b) })
	stop, err := b.Notify(limited(t), r.Key, func() {})
	require.NoError(t, err)
	return refusedAgain(t, b, r), stop
}

// dies ends the goroutine of b's ear, as the death of b's process would. The process stays in the queue.
func dies(b *Backend) {
	e := b.waiters.ear
	e.mu.Lock()
	ended := e.ended
	e.stop()
	e.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func refusedAgain(t *testing.T, b *Backend, r driver.Request) *driver.Held {
	t.Helper()
	r.Waiting = true
	_, err := b.Acquire(limited(t), r)
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	return held
}

// stretch extends a reservation from 50 ms to an hour, so that it does not end too early on a slow machine.
func (f *fixture) stretch(t *testing.T) {
	t.Helper()
	f.Exec(t, `UPDATE rowlock_lease SET held_until = held_until + INTERVAL 1 HOUR, expires_at = expires_at + INTERVAL 1 HOUR
		WHERE name = 'a' AND nonce IS NULL AND held_until > expires_at`)
}

// seen makes the first process of the queue count as waiting for an hour. So even on a slow machine, the statements do
// not treat this process as dead.
func (f *fixture) seen(t *testing.T) {
	t.Helper()
	f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE name = 'a' AND waiters IS NOT NULL")
}

func reading(name string) driver.Request {
	r := request(name)
	r.Shared = true
	return r
}

// lifeOfShares calls every method of b for the shares of one lock, and checks that the parameter plain, a backend with
// default settings, reads the same state.
func lifeOfShares(t *testing.T, plain, b *Backend, name string) {
	t.Helper()
	ctx := limited(t)
	r := reading(name)
	r.Holder, r.Note = "Ωmega 🐢", "because — that's why"
	first := mustAcquire(t, b, r)
	assert.Equal(t, first, mustAcquire(t, b, r), "the same nonce gets the same grant")
	second := mustAcquire(t, plain, reading(name))
	third := mustAcquire(t, b, reading(name))
	assert.Equal(t, []driver.Token{first.Token, first.Token}, []driver.Token{second.Token, third.Token})
	for _, by := range []*Backend{plain, b} {
		_, err := by.Acquire(ctx, request(name))
		assert.Equal(t, 3, requireHeld(t, err, driver.Leased).Readers)
		status, err := by.Inspect(ctx, first.Key)
		require.NoError(t, err)
		assert.Equal(t, 3, status.Readers)
		assert.Equal(t, driver.StateHeld, status.State)
	}
	got, err := b.Renew(ctx, []driver.Grant{first, third})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, got)
	require.NoError(t, b.Release(ctx, first))
	require.NoError(t, b.Release(ctx, first), "releasing again is no error")
	got, err = b.Renew(ctx, []driver.Grant{first, third})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed}, got)
	list, err := b.List(ctx, "", true)
	require.NoError(t, err)
	found := false
	for _, status := range list {
		if status.Key.Name == name {
			found = true
			assert.Equal(t, 2, status.Readers)
		}
	}
	assert.True(t, found)

	writer := request(name)
	writer.Waits = true
	_, err = b.Acquire(ctx, writer)
	requireHeld(t, err, driver.Leased)
	_, err = b.Acquire(ctx, reading(name))
	held := requireHeld(t, err, driver.Reserved)
	assert.Positive(t, held.ExpiresIn)
	assert.LessOrEqual(t, held.ExpiresIn, driver.WriterReserve)
	require.NoError(t, b.Release(ctx, third))
	require.NoError(t, plain.Release(ctx, driver.Grant{Key: second.Key, Nonce: second.Nonce, Shared: true}), "a release without the token")
	alone := mustAcquire(t, b, writer)
	assert.Greater(t, alone.Token, first.Token)
	require.ErrorIs(t, b.Release(ctx, first), driver.ErrNotHeld)
	_, err = b.Acquire(ctx, reading(name))
	assert.Zero(t, requireHeld(t, err, driver.Leased).Readers)
	alone.Done = "Zoë 🔒"
	require.NoError(t, b.Release(ctx, alone))

	last := mustAcquire(t, b, reading(name))
	assert.Greater(t, last.Token, alone.Token)
	assert.Equal(t, alone.Done, last.Done)
	require.NoError(t, b.ForceRelease(ctx, last.Key, last.Token, true))
	require.ErrorIs(t, b.Release(ctx, last), driver.ErrNotHeld)
	got, err = b.Renew(ctx, []driver.Grant{last})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost}, got)
}

// requests returns requests for the names, in the order of their bytes.
func requests(names ...string) []driver.Request {
	slices.Sort(names)
	all := make([]driver.Request, len(names))
	for i, name := range names {
		all[i] = request(name)
	}
	return all
}

// known makes the server insert the rows of the locks, and releases the locks.
func (f *fixture) known(t *testing.T, all []driver.Request) {
	t.Helper()
	for _, r := range all {
		r.Nonce = driver.NewNonce()
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, r)))
	}
}

// together acquires all requests in one batch, which must grant them.
func together(t *testing.T, b *Backend, all []driver.Request) []driver.Grant {
	t.Helper()
	grants, errs := b.AcquireEach(limited(t), all)
	for i, err := range errs {
		require.NoError(t, err)
		require.Equal(t, all[i].Key, grants[i].Key)
	}
	return grants
}

// alone checks that a batch had no effect, and that each of its requests needs a statement of its own.
func alone(t *testing.T, errs []error, why string) {
	t.Helper()
	for _, err := range errs {
		require.ErrorIs(t, err, errAlone, why)
		require.True(t, driver.IsNotApplied(err))
	}
}

func mustReleased(t *testing.T, b *Backend, r driver.Request) {
	t.Helper()
	require.NoError(t, b.Release(limited(t), mustAcquire(t, b, r)))
}

// as returns a pool whose database user has exactly these privileges on the lease table and the meta table.
func (f *fixture) as(t *testing.T, privileges string) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(f.dsn)
	require.NoError(t, err)
	user := "u" + driver.NewNonce().String()[:8]
	f.Exec(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'Secret-1'", user))
	t.Cleanup(func() { f.Exec(t, fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	for _, table := range []string{"rowlock_lease", "rowlock_lease_meta"} {
		f.Exec(t, fmt.Sprintf("GRANT %s ON `%s`.%s TO '%s'@'%%'", privileges, config.DBName, table, user))
	}
	config.User, config.Passwd = user, "Secret-1"
	connector, err := mysqldriver.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// listener is a waiter whose ear sleeps.
type listener struct {
	*Backend

	request driver.Request
	woken   chan struct{}
	stop    func()
}

// listens makes b wait for the lock of r, as the engine does: it subscribes, sends a refused request, which adds b to
// the queue, and waits until b's ear sleeps.
func (f *fixture) listens(t *testing.T, b *Backend, r driver.Request) *listener {
	t.Helper()
	l := &listener{b, r, make(chan struct{}, 1), nil}
	stop, err := b.Notify(limited(t), r.Key, func() {
		select {
		case l.woken <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	l.stop = sync.OnceFunc(stop)
	t.Cleanup(func() {
		l.stop()
		b.CloseIdle(limited(t))
	})
	l.again(t, f)
	return l
}

// again sends a refused request, and forgets all earlier wake-ups.
func (l *listener) again(t *testing.T, f *fixture) {
	t.Helper()
	refusedAgain(t, l.Backend, l.request)
	f.seen(t)
	f.sleeps(t, l.Backend)
	select {
	case <-l.woken:
	default:
	}
}

// isWoken returns when a release has woken the waiter. No poll does so, because this test sends no other request.
func (l *listener) isWoken(t *testing.T) {
	t.Helper()
	select {
	case <-l.woken:
	case <-limited(t).Done():
		require.Fail(t, "the waiter was not woken")
	}
}

// watchesNothing makes the backends wake each waiter of a released lock only once, even on a slow machine.
func (f *fixture) watchesNothing(t *testing.T, all ...*Backend) {
	t.Helper()
	for _, b := range all {
		s, err := b.server(limited(t))
		require.NoError(t, err)
		s.watches.every = time.Hour
		t.Cleanup(func() { s.watches.closeIdle(context.Background()) })
	}
}

// asleep matches the statement in which an ear sleeps.
var asleep = regexp.MustCompile("SELECT.*(SLEEP|GTID_WAIT)")

// sleeps waits until b's ear sleeps on the server.
func (f *fixture) sleeps(t *testing.T, b *Backend) {
	t.Helper()
	require.Eventually(t, func() bool {
		id := f.int(t, "SELECT COALESCE(IS_USED_LOCK(?), 0)", b.waiters.ear.lock)
		return slices.ContainsFunc(testenv.Sessions(t, f.db), func(s testenv.Session) bool {
			return s.ID == id && s.Command == "Execute" && asleep.MatchString(s.Statement)
		})
	}, 20*time.Second, time.Millisecond)
}

const lockRow = "SELECT token FROM rowlock_lease WHERE namespace = '' AND name = 'a' FOR UPDATE"

func (f *fixture) string(t testing.TB, query string) (s string) {
	t.Helper()
	require.NoError(t, f.db.QueryRowContext(limited(t), query).Scan(&s), query)
	return s
}
