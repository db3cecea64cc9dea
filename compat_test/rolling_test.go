package compat_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// fleet is a database with clients of two versions.
type fleet struct {
	dialect migrations.Dialect
	open    func() *sql.DB
	server  string
	now     func(*sql.DB) *sqllock.Backend
}

func eachFleet(t *testing.T, do func(t *testing.T, f fleet)) {
	on := func(driverName string, dsn func(testing.TB) string, f fleet) {
		t.Run(f.server, func(t *testing.T) {
			t.Parallel()
			at := dsn(t)
			f.open = func() *sql.DB { return open(t, driverName, at) }
			do(t, f)
		})
	}
	postgres := func(db *sql.DB) *sqllock.Backend { return sqllock.Postgres(db) }
	mySQL := func(db *sql.DB) *sqllock.Backend { return sqllock.MySQL(db) }
	on("pgx", testenv.Postgres, fleet{dialect: migrations.Postgres, server: "postgres", now: postgres})
	on("mysql", testenv.MySQL, fleet{dialect: migrations.MySQL, server: "mysql", now: mySQL})
	on("mysql", testenv.MariaDB, fleet{dialect: migrations.MySQL, server: "mariadb", now: mySQL})
	file := func(tb testing.TB) string {
		return "file:" + filepath.Join(tb.TempDir(), "locks.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
	}
	on("sqlite", file, fleet{dialect: migrations.SQLite, server: "sqlite", now: func(db *sql.DB) *sqllock.Backend { return sqllock.SQLite(db) }})
}

func (f fleet) earlier(t *testing.T) driver.Backend { return newEarlier(t, f.open(), f.server) }
func (f fleet) present() driver.Backend             { return f.now(f.open()) }

// ready creates the tables and grants one lock. A client of this version makes that grant. The older version cannot
// make it in this test: the first grant of a lock needs special statements, and the test has no copy of the older
// version's special statements.
func (f fleet) ready(t *testing.T) *sql.DB {
	db := f.open()
	require.NoError(t, migrations.Up(t.Context(), db, f.dialect))
	locker, err := rowlock.New(f.present(), rowlock.TTL(time.Minute))
	require.NoError(t, err)
	lease, err := locker.Acquire(t.Context(), "job")
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, locker.Close())
	return db
}

// While a fleet is upgraded, clients of the older version and clients of this version use the same table. No two
// clients hold a lock at the same time, and tokens rise. The only error that a client gets is that the lock is held.
// Clients of the older version poll, and no release notifies them. So they acquire the lock less often than the clients
// of this version.
func TestRollingUpgrade(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	eachFleet(t, func(t *testing.T, f fleet) {
		f.ready(t)
		r := &relay{}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() { r.run(ctx, t, f.earlier(t), &r.earlier) })
		}
		r.until(t, func() bool { return r.earlier.Load() >= 10 })
		for range 2 {
			running.Go(func() { r.run(ctx, t, f.present(), &r.present) })
		}
		r.until(t, func() bool { return r.present.Load() >= 20 })
		cancel()
		running.Wait()
		t.Logf("%d grants of clients of the version before, %d of this one", r.earlier.Load(), r.present.Load())
	})
}

// relay counts, for a lock that all clients acquire repeatedly, how often it was granted and how many clients hold it
// now.
type relay struct {
	inside           atomic.Int32
	newest           atomic.Uint64
	earlier, present atomic.Int32
}

// until waits for many hand-overs. A hand-over from a client of the older version may take as long as a client of this
// version waits between two polls, which is 20 seconds at most.
func (r *relay) until(t *testing.T, enough func() bool) {
	t.Helper()
	require.Eventually(t, func() bool { return enough() || t.Failed() }, 4*time.Minute, 5*time.Millisecond)
}

func (r *relay) run(ctx context.Context, t *testing.T, b driver.Backend, count *atomic.Int32) {
	renewed := make(chan struct{}, 1)
	trace := rowlock.Trace{Renewed: func(rowlock.RenewedEvent) {
		select {
		case renewed <- struct{}{}:
		default:
		}
	}}
	locker, err := rowlock.New(b, rowlock.TTL(time.Minute), rowlock.RenewEvery(20*time.Millisecond), rowlock.Tracing(&trace))
	if !assert.NoError(t, err) {
		return
	}
	defer func() { assert.NoError(t, locker.Close()) }()
	for ctx.Err() == nil {
		lease, err := locker.Acquire(ctx, "job", rowlock.Wait(10*time.Second))
		if err != nil {
			assert.True(t, errors.Is(err, rowlock.ErrHeld) || ctx.Err() != nil, "%v", err)
			continue
		}
		assert.EqualValues(t, 1, r.inside.Add(1), "two hold the lock")
		before := r.newest.Swap(uint64(lease.Token()))
		assert.Greater(t, uint64(lease.Token()), before)
		if count.Add(1)%8 == 0 {
			select {
			case <-renewed:
			default:
			}
			select {
			case <-renewed:
			case <-lease.Context().Done():
				assert.NoError(t, context.Cause(lease.Context()))
			}
		}
		assert.NoError(t, lease.Err())
		r.inside.Add(-1)
		assert.NoError(t, lease.Release(context.Background()))
		// The delay stands for other work of the client. A release of the older version notifies nobody, and the
		// waiters of this version poll seldom. Without the delay, the client that released the lock would acquire it
		// again at once.
		time.Sleep(20 * time.Millisecond)
	}
}

// If a client of the older version releases a lock with a minimum hold, no client of this version can acquire the lock
// during that time. On Postgres and SQLite there is one exception: a release reserved the lock for a waiter, and the
// waiter did not acquire it in time (docs/compatibility.md).
func TestRollingMinHold(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	eachFleet(t, func(t *testing.T, f fleet) {
		db := f.ready(t)
		old, err := rowlock.New(f.earlier(t))
		require.NoError(t, err)
		defer old.Close() //nolint:errcheck // released below
		lease, err := old.Acquire(t.Context(), "job", rowlock.MinHold(time.Minute))
		require.NoError(t, err)
		present, err := rowlock.New(f.present())
		require.NoError(t, err)
		defer present.Close() //nolint:errcheck // this locker holds no lease
		waited := make(chan error, 1)
		go func() {
			_, err := present.Acquire(t.Context(), "job", rowlock.Wait(20*time.Second))
			waited <- err
		}()
		// Waits until the waiter is in the queue, because a release by this version reads the queue.
		if f.dialect == migrations.MySQL {
			require.Eventually(t, func() bool {
				n := 0
				return db.QueryRowContext(t.Context(), "SELECT count(*) FROM rowlock_lease WHERE waiters IS NOT NULL").Scan(&n) == nil && n == 1
			}, 20*time.Second, 10*time.Millisecond)
		}
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, <-waited, rowlock.ErrHeld)
	})
}

// When a client of one version dies, a client of the other version acquires the lock after the lease has expired.
func TestRollingCrash(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	eachFleet(t, func(t *testing.T, f fleet) {
		f.ready(t)
		var last driver.Token
		for i, pair := range [][2]driver.Backend{{f.earlier(t), f.present()}, {f.present(), f.earlier(t)}} {
			r := driver.Request{Key: driver.Key{Name: "job"}, Nonce: driver.NewNonce(), Holder: "dead", TTL: 300 * time.Millisecond}
			dead, err := pair[0].Acquire(t.Context(), r)
			require.NoError(t, err)
			locker, err := rowlock.New(pair[1])
			require.NoError(t, err)
			lease, err := locker.Acquire(t.Context(), "job", rowlock.Wait(10*time.Second))
			require.NoError(t, err, i)
			assert.Greater(t, dead.Token, last)
			assert.Greater(t, lease.Token(), dead.Token)
			last = lease.Token()
			outcome, err := pair[0].Renew(t.Context(), []driver.Grant{dead})
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Lost}, outcome)
			require.NoError(t, lease.Release(t.Context()))
			require.NoError(t, locker.Close())
		}
	})
}
