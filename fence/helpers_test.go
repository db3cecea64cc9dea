package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// engine is one kind of database with its driver and its session settings.
type engine struct {
	name    string
	driver  string
	dialect migrations.Dialect
	dsn     func(t *testing.T) string
	guard   func(*sql.DB, ...fence.Option) *fence.Guard
	levels  []sql.IsolationLevel
}

// scheduled returns the isolation levels for tests that run one step after another. With the race detector it returns
// only the last level: in such tests few goroutines run at the same time, so the race detector would find little on the
// other levels.
func (e engine) scheduled() []sql.IsolationLevel {
	if raced {
		return e.levels[len(e.levels)-1:]
	}
	return e.levels
}

var (
	postgresLevels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	mysqlLevels    = []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	sqliteLevels   = []sql.IsolationLevel{sql.LevelDefault}
)

// The main handle of each engine, and further handles and settings.
var (
	postgres = engine{"postgres", "pgx", migrations.Postgres, func(t *testing.T) string { return testenv.Postgres(t) }, fence.Postgres, postgresLevels}
	mysql    = engine{"mysql", "mysql", migrations.MySQL, func(t *testing.T) string { return testenv.MySQL(t) }, fence.MySQL, mysqlLevels}
	mariadb  = engine{"mariadb", "mysql", migrations.MySQL, func(t *testing.T) string { return testenv.MariaDB(t) }, fence.MySQL, mysqlLevels}

	mariadbSnapshot = engine{"mariadb-snapshot-isolation", "mysql", migrations.MySQL, func(t *testing.T) string {
		return testenv.MariaDB(t) + "?innodb_snapshot_isolation=ON"
	}, fence.MySQL, mysqlLevels}

	sqliteWAL       = engine{"sqlite-wal", "sqlite", migrations.SQLite, sqliteFile("&_pragma=journal_mode(WAL)"), fence.SQLite, sqliteLevels}
	sqliteImmediate = engine{"sqlite-wal-immediate", "sqlite", migrations.SQLite, sqliteFile("&_pragma=journal_mode(WAL)&_txlock=immediate"), fence.SQLite, sqliteLevels}
	sqliteJournal   = engine{"sqlite-journal", "sqlite", migrations.SQLite, sqliteFile(""), fence.SQLite, sqliteLevels}

	servers        = []engine{postgres, mysql, mariadb}
	engines        = []engine{postgres, mysql, mariadb, sqliteWAL}
	furtherEngines = []engine{mariadbSnapshot, sqliteImmediate, sqliteJournal}
)

// further reports whether t is a part of a TestCompat. Such a test runs on the further engines and handles instead of
// the main ones.
func further(t *testing.T) bool { return strings.HasPrefix(t.Name(), "TestCompat") }

// enginesOf returns the engines on which the test runs.
func enginesOf(t *testing.T) []engine {
	t.Helper()
	onFurtherHandles(t)
	if further(t) {
		return furtherEngines
	}
	return engines
}

// furtherTests are the tests that TestCompatFurtherEngines runs again.
var furtherTests map[string]func(*testing.T)

// onFurtherHandles fails a test that TestCompatFurtherEngines does not run.
func onFurtherHandles(t *testing.T) {
	t.Helper()
	if !further(t) {
		require.Contains(t, furtherTests, t.Name(), "add the test to the list of TestCompatFurtherEngines")
	}
}

func sqliteFile(parameters string) func(*testing.T) string {
	return func(t *testing.T) string {
		path := url.URL{Path: filepath.Join(t.TempDir(), "data.db")}
		return "file:" + path.EscapedPath() + "?_pragma=busy_timeout(5000)" + parameters
	}
}

// store is one database for one test, with the fence table and a ledger. Each row of the ledger has the token of its
// writer, and the number of rows that the writer saw.
type store struct {
	engine

	dsn   string
	db    *sql.DB
	guard *fence.Guard
	seals rowlock.Sealer // seals for each new holder: the guard itself, or its Claimer
	locks locks
}

// locks is a backend whose leases a test can end with ForceRelease.
type locks interface {
	driver.Backend
	driver.Operator
}

// each runs the function test on every engine, in parallel.
func each(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, e.fresh(t))
		})
	}
}

func (e engine) fresh(t *testing.T) *store {
	t.Helper()
	s := &store{engine: e, dsn: e.dsn(t), locks: memlock.New()}
	s.db = s.open(t, s.dsn)
	s.guard = e.guard(s.db)
	s.seals = s.guard
	testschema.Install(t, s.db, e.dialect)
	id := map[migrations.Dialect]string{
		migrations.Postgres: "bigserial PRIMARY KEY", migrations.MySQL: "bigint AUTO_INCREMENT PRIMARY KEY", migrations.SQLite: "INTEGER PRIMARY KEY",
	}[e.dialect]
	s.exec(t, "CREATE TABLE ledger (id "+id+", token bigint NOT NULL, seen bigint NOT NULL)")
	s.exec(t, "CREATE TABLE elsewhere (n bigint NOT NULL)")
	return s
}

// again empties the tables of s, and returns a store with these tables, new locks and a new guard. Tests of many
// schedules use it, because a new database takes longer than most schedules.
func (s *store) again(t *testing.T, opts ...fence.Option) *store {
	t.Helper()
	s.empty(t, "rowlock_lease_fence", "rowlock_lease_outcome", "ledger", "elsewhere")
	same := &store{engine: s.engine, dsn: s.dsn, db: s.db, locks: memlock.New(), guard: s.engine.guard(s.db, opts...)}
	same.seals = same.guard
	return same
}

// empty deletes all rows of the tables.
func (s *store) empty(t *testing.T, tables ...string) {
	t.Helper()
	switch s.dialect {
	case migrations.Postgres:
		s.exec(t, "TRUNCATE "+strings.Join(tables, ", "))
	case migrations.MySQL: // a deleted row would remain in the index for a while, and could be locked
		for _, table := range tables {
			s.exec(t, "TRUNCATE "+table)
		}
	default:
		for _, table := range tables {
			s.exec(t, "DELETE FROM "+table)
		}
	}
}

func (s *store) open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(s.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// bind replaces each ? in a statement by the driver's form of a parameter.
func (s *store) bind(statement string) string {
	if s.dialect != migrations.Postgres {
		return statement
	}
	var b strings.Builder
	n := 0
	for _, c := range statement {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n) + "::bigint")
	}
	return b.String()
}

func (s *store) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := s.db.ExecContext(t.Context(), s.bind(statement), args...)
	require.NoError(t, err, statement)
}

func (s *store) int(t *testing.T, query string) int64 {
	t.Helper()
	var n int64
	require.NoError(t, s.db.QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

func (s *store) begin(t *testing.T, level sql.IsolationLevel) *sql.Tx {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// lease acquires name. If name is held, lease first ends the old lease in the store, and the old holder does not
// notice.
func (s *store) lease(t *testing.T, name string, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	return leaseFrom(t, s.locks, name, opts...)
}

func leaseFrom(t *testing.T, locks locks, name string, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	locker, err := rowlock.New(locks, append([]rowlock.Option{rowlock.TTL(time.Hour)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = locker.Close() }) // Close returns an error for a lease that was lost
	key := driver.Key{Name: name}
	before, err := locks.Inspect(t.Context(), key)
	require.NoError(t, err)
	if before.State == driver.StateHeld {
		require.NoError(t, locks.ForceRelease(t.Context(), key, before.Token, true))
	}
	lease, err := locker.TryAcquire(t.Context(), name)
	require.NoError(t, err)
	return lease
}

// two returns an old lease that has sealed, and its successor that has not.
func (s *store) two(t *testing.T) (old, newer *rowlock.Lease) {
	t.Helper()
	old = s.lease(t, "r")
	require.NoError(t, s.seals.Seal(t.Context(), old))
	newer = s.lease(t, "r")
	require.Greater(t, newer.Token(), old.Token())
	require.NoError(t, old.Err(), "the holder has not noticed")
	return old, newer
}

// append adds a row to the ledger, with the lease's token and the number of rows that tx sees.
func (s *store) append(ctx context.Context, tx *sql.Tx, lease *rowlock.Lease) error {
	var seen int64
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM ledger").Scan(&seen); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, s.bind("INSERT INTO ledger (token, seen) VALUES (?, ?)"), int64(lease.Token()), seen)
	return err
}

// work is a holder's transaction: it checks, writes and commits.
func (s *store) work(t *testing.T, lease *rowlock.Lease) {
	t.Helper()
	require.NoError(t, s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return s.append(ctx, tx, lease)
	}, "r"))
}

// running says since when, and how often without a gap, a test has seen a statement that runs.
type running struct {
	since time.Time
	seen  int
}

// waiting reports whether a session of this database waits for a lock. MySQL and MariaDB refresh their lists of waiting
// sessions only if nobody reads the lists for 100 ms. So on these servers the method reads the monitor of InnoDB. The
// monitor of MySQL does not show a transaction that has only read. So the method also looks for a statement on the fence
// table, or a statement of CheckRow, that has been running for 400 ms. On a slow machine, a statement that waits for
// nothing may run for so long, but then the method cannot look at it thirty times meanwhile.
func (s *store) waiting(t *testing.T, r *running) bool {
	t.Helper()
	if s.dialect == migrations.Postgres {
		return s.int(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	}
	config, err := mysqldriver.ParseDSN(s.dsn)
	require.NoError(t, err)
	var kind, name, status string
	require.NoError(t, s.db.QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status))
	var waits []string
	for _, tx := range strings.Split(status, "\n---TRANSACTION ")[1:] {
		if id := threadID.FindStringSubmatch(tx); id != nil && strings.Contains(tx, "\nLOCK WAIT ") {
			waits = append(waits, id[1])
		}
	}
	runs, locked := false, false
	for _, other := range testenv.Sessions(t, s.db) {
		if other.Database == config.DBName {
			locked = locked || slices.Contains(waits, strconv.FormatInt(other.ID, 10))
			runs = runs || strings.Contains(other.Statement, "_fence") || strings.HasSuffix(other.Statement, "FOR UPDATE")
		}
	}
	if !runs {
		*r = running{since: time.Now()}
	}
	r.seen++
	return locked || time.Since(r.since) > 400*time.Millisecond && r.seen > 30
}

var threadID = regexp.MustCompile(`\n(?:MySQL|MariaDB) thread id (\d+),`)

// sealing is a call, such as Seal, that has returned or is known to wait for a lock. The function wait returns the
// result of that call.
type sealing struct {
	waits bool
	wait  func() error
}

// startSeal begins to seal, and returns when the seal has returned or waits. SQLite cannot report which session waits.
// So on SQLite a seal that would wait gives up with ErrRetry, and wait begins a new seal.
func (s *store) startSeal(t *testing.T, lease *rowlock.Lease, resources ...string) sealing {
	t.Helper()
	for limit := 200 * time.Millisecond; s.dialect == migrations.SQLite; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := s.seals.Seal(ctx, lease, resources...)
		cancel()
		switch {
		case err == nil:
			return sealing{false, func() error { return nil }}
		case errors.Is(err, fence.ErrRetry):
			return sealing{true, func() error { return s.seals.Seal(t.Context(), lease, resources...) }}
		}
		require.ErrorIs(t, err, context.DeadlineExceeded, "too slow to ask even once")
		require.Less(t, limit, time.Minute)
	}
	done := make(chan error, 1)
	go func() { done <- s.seals.Seal(t.Context(), lease, resources...) }()
	return s.untilDoneOrWaiting(t, done)
}

func (s *store) untilDoneOrWaiting(t *testing.T, done chan error) sealing {
	t.Helper()
	limit, seen := time.After(waitLimit), running{since: time.Now()}
	for {
		select {
		case err := <-done:
			return sealing{false, func() error { return err }}
		case <-limit:
			require.FailNow(t, "neither done nor waiting")
		case <-time.After(5 * time.Millisecond):
			if s.waiting(t, &seen) {
				return sealing{true, func() error { return <-done }}
			}
		}
	}
}

// Time limits for the waits of tests, long enough for a busy machine.
const (
	waitLimit = time.Minute
	waitStep  = 10 * time.Millisecond
)

// kept runs the function test on every engine. The locks are in the guard's database and lease table.
func kept(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	each(t, func(t *testing.T, s *store) {
		s.keepLocks()
		test(t, s)
	})
}

func (s *store) keepLocks(opts ...sqllock.Option) {
	open := map[migrations.Dialect]func(*sql.DB, ...sqllock.Option) *sqllock.Backend{
		migrations.Postgres: sqllock.Postgres, migrations.MySQL: sqllock.MySQL, migrations.SQLite: sqllock.SQLite,
	}[s.dialect]
	s.locks = open(s.db, opts...)
}

// sealed acquires and seals "r".
func (s *store) sealed(t *testing.T, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	lease := s.lease(t, "r", opts...)
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	return lease
}

// readsLock reports whether every read of a transaction locks the rows that it reads.
func (s *store) readsLock(level sql.IsolationLevel) bool {
	return level == sql.LevelSerializable && s.dialect == migrations.MySQL
}

// tokenless is a store that grants no tokens.
type tokenless struct{ *memlock.Backend }

func (b tokenless) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "tokenless", Wakes: true}
}

func (b tokenless) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.Backend.Acquire(ctx, r)
	g.Token = 0
	return g, err
}

// holder acquires "r" in a store with a new Locker.
func holder(t *testing.T, backend driver.Backend, opts ...rowlock.Option) *rowlock.Lease {
	t.Helper()
	locker, err := rowlock.New(backend, append([]rowlock.Option{rowlock.TTL(time.Hour)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = locker.Close() })
	lease, err := locker.TryAcquire(t.Context(), "r")
	require.NoError(t, err)
	return lease
}

var nothing = func(context.Context, *sql.Tx) error { return nil }

// limited returns a guard on a pool with one session. The statement setting has been executed in that session. The
// function set executes a further statement in it.
func (s *store) limited(t *testing.T, setting string) (guard *fence.Guard, set func(setting string)) {
	t.Helper()
	db := s.open(t, s.dsn)
	db.SetMaxOpenConns(1)
	set = func(setting string) {
		_, err := db.ExecContext(t.Context(), setting)
		require.NoError(t, err)
	}
	set(setting)
	return s.engine.guard(db), set
}

func lockerOn(t *testing.T, backend driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	t.Helper()
	locker, err := rowlock.New(backend, append([]rowlock.Option{rowlock.TTL(time.Hour)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = locker.Close() }) // Close returns an error for a lease that was lost
	return locker
}

// prepared begins a transaction, checks and writes in it, and prepares it under the name p.
func (s *store) prepared(t *testing.T, lease *rowlock.Lease) {
	t.Helper()
	tx := s.begin(t, sql.LevelDefault)
	require.NoError(t, s.guard.Check(lease.Context(), tx))
	require.NoError(t, s.append(t.Context(), tx, lease))
	_, err := tx.ExecContext(t.Context(), "PREPARE TRANSACTION 'p'")
	require.NoError(t, err)
	_ = tx.Rollback()
}

// untilSealWaits calls Seal, ends its ctx while Seal waits, and checks the error.
func (s *store) untilSealWaits(t *testing.T, lease *rowlock.Lease) {
	t.Helper()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { done <- s.guard.Seal(ctx, lease) }()
	seal := s.untilDoneOrWaiting(t, done)
	require.True(t, seal.waits, "the prepared transaction has locked the mark")
	cancel()
	require.ErrorIs(t, seal.wait(), context.Canceled)
}

// ownPostgres starts a server that only this test uses.
func ownPostgres(t *testing.T) (*testserver.Server, *store) {
	t.Helper()
	testenv.DSN(t, testserver.Postgres) // skips the test on a machine that cannot start a server
	server, err := testserver.Start(t.Context(), testserver.Postgres, testserver.Options{Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	own := postgres
	own.dsn = func(*testing.T) string { return server.DSN }
	return server, own.fresh(t)
}

// undone reports whether the database wants the transaction to run again.
func (s *store) undone(err error) bool {
	number := sqlerror.MySQL(err)
	return errors.Is(err, fence.ErrRetry) || sqlerror.State(err) == "40001" || number == 1213 || number == 1020 || sqlerror.SQLite(err)&0xff == 5
}

var orderRow = fence.Row{Table: "orders", Key: "id", Token: "lock_token"}

// withOrders returns a store with an empty table of orders and no fence table.
func (e engine) withOrders(t *testing.T) *store {
	t.Helper()
	s := e.fresh(t)
	s.exec(t, "DROP TABLE rowlock_lease_fence")
	s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
	return s
}

// order replaces the order 7, and empties the ledger. The lease old has checked the order, so the order's row has its
// token. The lease newer is the successor of the lease old.
func (s *store) order(t *testing.T) (old, newer *rowlock.Lease) {
	t.Helper()
	s.empty(t, "orders", "ledger")
	s.exec(t, "INSERT INTO orders (id) VALUES (7)")
	old = s.lease(t, "order-7")
	tx := s.begin(t, sql.LevelDefault)
	require.NoError(t, s.guard.CheckRow(old.Context(), tx, orderRow, 7))
	require.NoError(t, tx.Commit())
	return old, s.lease(t, "order-7")
}

// successor checks the row, writes to the ledger and commits. While the error is an ErrRetry, it runs the transaction
// again. The parameter tries is the largest number of runs.
func (s *store) successor(t *testing.T, db *sql.DB, newer *rowlock.Lease, level sql.IsolationLevel, tries int) error {
	once := func() error {
		ctx, cancel := context.WithTimeout(newer.Context(), 20*time.Second)
		defer cancel()
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := s.guard.CheckRow(ctx, tx, orderRow, 7); err != nil {
			return err
		}
		if err := s.append(ctx, tx, newer); err != nil {
			return err
		}
		return tx.Commit()
	}
	var err error
	for range tries {
		err = once()
		if again := errors.Is(err, fence.ErrRetry) || sqlerror.State(err) == "40001" || sqlerror.MySQL(err) == 1020; !again {
			return err
		}
	}
	return err
}

func (s *store) checkRow(t *testing.T, lease *rowlock.Lease, row fence.Row, key any) error {
	t.Helper()
	tx := s.begin(t, sql.LevelDefault)
	defer tx.Rollback()
	if err := s.guard.CheckRow(lease.Context(), tx, row, key); err != nil {
		return err
	}
	return tx.Commit()
}
