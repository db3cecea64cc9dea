package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// poolSize is the largest number of connections in the application's pool.
const poolSize = 3

// smallPool is a pool that the application shares with its locks.
type smallPool struct {
	*sqllock.Backend

	begin    func(ctx context.Context) (end func(), err error) // opens a transaction of the application, which occupies a connection
	sessions func() int                                        // returns the number of sessions on the server, without the test's own session
}

// openSmall opens a small pool on a server. The function lead may change the server's DSN, for example to the address
// of a proxy.
type openSmall func(lead func(dsn string) string) *smallPool

// eachSmallPool runs the function test on the main handle of each server. In a test of "make compat", it runs that
// function on all other kinds of handles. TestCompatBackends lists the tests that call eachSmallPool.
func eachSmallPool(t *testing.T, test func(t *testing.T, open openSmall)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(*testing.T, func(string) string) *smallPool{
		"pgxpool": func(t *testing.T, dsn func(string) string) *smallPool {
			p, pool := smallPgx(t, dsn)
			p.Backend = sqllock.Pgx(pool)
			p.begin = func(ctx context.Context) (func(), error) {
				tx, err := pool.Begin(ctx)
				return func() { _ = tx.Rollback(context.Background()) }, err
			}
			return p
		},
		"pgx over a pgxpool": func(t *testing.T, dsn func(string) string) *smallPool {
			p, pool := smallPgx(t, dsn)
			db := stdlib.OpenDBFromPool(pool)
			t.Cleanup(func() { _ = db.Close() })
			p.Backend, p.begin = sqllock.Postgres(db), beginSQL(db)
			return p
		},
		"pgx": func(t *testing.T, dsn func(string) string) *smallPool {
			return smallSQL(t, "pgx", testenv.Postgres(t), dsn)
		},
		"another driver": func(t *testing.T, dsn func(string) string) *smallPool {
			return smallSQL(t, otherdriver.Name, testenv.Postgres(t), dsn)
		},
		"mysql": func(t *testing.T, dsn func(string) string) *smallPool {
			return smallSQL(t, "mysql", testenv.MySQL(t), dsn)
		},
		"mariadb": func(t *testing.T, dsn func(string) string) *smallPool {
			return smallSQL(t, "mysql", testenv.MariaDB(t), dsn)
		},
	} {
		compat := inCompat(t)
		if usual := name == "pgxpool" || name == "mysql" || name == "mariadb"; compat == usual {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if compat {
				testenv.Compat(t)
			}
			t.Parallel()
			test(t, func(lead func(string) string) *smallPool { return open(t, lead) })
		})
	}
}

func smallPgx(t *testing.T, dsn func(string) string) (*smallPool, *pgxpool.Pool) {
	t.Helper()
	p, direct := &smallPool{}, testenv.Postgres(t)
	p.count(t, "pgx", direct, migrations.Postgres)
	config, err := pgxpool.ParseConfig(dsn(direct))
	require.NoError(t, err)
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return p, pool
}

func smallSQL(t *testing.T, driverName, direct string, dsn func(string) string) *smallPool {
	t.Helper()
	db, err := sql.Open(driverName, dsn(direct))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	p := &smallPool{begin: beginSQL(db)}
	if driverName == "mysql" {
		p.count(t, "mysql", direct, migrations.MySQL)
		p.Backend = sqllock.MySQL(db)
	} else {
		p.count(t, "pgx", direct, migrations.Postgres)
		p.Backend = sqllock.Postgres(db)
	}
	return p
}

func beginSQL(db *sql.DB) func(context.Context) (func(), error) {
	return func(ctx context.Context) (func(), error) {
		tx, err := db.BeginTx(ctx, nil)
		return func() { _ = tx.Rollback() }, err
	}
}

// count creates the tables. It sets p.sessions to a function that counts the sessions on the server.
func (p *smallPool) count(t *testing.T, driverName, dsn string, dialect migrations.Dialect) {
	t.Helper()
	raw, err := sql.Open(driverName, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	raw.SetMaxOpenConns(1)
	testschema.Install(t, raw, dialect)
	p.sessions = func() (n int) {
		require.NoError(t, raw.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&n))
		return n
	}
	if dialect == migrations.MySQL {
		config, err := mysqldriver.ParseDSN(dsn)
		require.NoError(t, err)
		p.sessions = func() (n int) {
			for _, s := range testenv.Sessions(t, raw) {
				if s.Database == config.DBName {
					n++
				}
			}
			return n
		}
	}
}

// fill makes the application take every connection of the pool, until the function free is called.
func (p *smallPool) fill(t *testing.T) (free func()) {
	t.Helper()
	var ends []func()
	for range poolSize {
		end, err := p.begin(t.Context())
		require.NoError(t, err)
		ends = append(ends, end)
	}
	free = sync.OnceFunc(func() {
		for _, end := range ends {
			end()
		}
	})
	t.Cleanup(free)
	return free
}

// While the application's transactions hold every connection of the pool, leases are renewed and released over one
// additional connection. Closing the locker closes that connection. The error of an acquire says that the pool has no
// free connection.
func TestLeasesOutliveAFullPool(t *testing.T) {
	eachSmallPool(t, func(t *testing.T, open openSmall) {
		p := open(func(dsn string) string { return dsn })
		locker := newRenewing(t, p.Backend, rowlock.TTL(time.Minute), rowlock.RenewEvery(200*time.Millisecond))
		leases := locker.acquire(t, "a", "b", "c")
		free := p.fill(t)
		locker.renews(t, 4, leases...)
		_, err := locker.TryAcquire(t.Context(), "another", rowlock.TTL(time.Second))
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		require.NotErrorIs(t, err, rowlock.ErrUnknown)
		require.ErrorContains(t, err, "no free connection in the pool (3 of 3 in use)")
		until(t, "there is one further connection", func() bool { return p.sessions() == poolSize+1 }) // the server may still count one that was replaced
		for _, lease := range leases {
			require.NoError(t, lease.Release(t.Context()))
		}
		require.NoError(t, locker.Close())
		until(t, "the end of the further connection", func() bool { return p.sessions() == poolSize })
		free()
	})
}

// While the pool is full, many simultaneous releases share the additional connection, and each release succeeds.
func TestReleasesAtOnceInAFullPool(t *testing.T) {
	eachSmallPool(t, func(t *testing.T, open openSmall) {
		p := open(func(dsn string) string { return dsn })
		locker := newRenewing(t, p.Backend, rowlock.TTL(30*time.Second))
		var names []string
		for i := range 24 {
			names = append(names, fmt.Sprint("job", i))
		}
		leases := locker.acquire(t, names...)
		free := p.fill(t)
		var all sync.WaitGroup
		for _, lease := range leases {
			all.Go(func() { assert.NoError(t, lease.Release(t.Context())) })
		}
		all.Wait()
		until(t, "there is at most one further connection", func() bool { return p.sessions() <= poolSize+1 })
		free()
	})
}

// If the additional connection is lost, the backend opens another additional connection while the application still
// uses the whole pool. The new connection is closed after it was unused for a while.
func TestALostReserveIsReplaced(t *testing.T) {
	eachSmallPool(t, func(t *testing.T, open openSmall) {
		var proxy *faultproxy.Proxy
		p := open(through(t, &proxy))
		p.SetIdle(300 * time.Millisecond)
		locker := newRenewing(t, p.Backend, rowlock.TTL(30*time.Second), rowlock.RenewEvery(200*time.Millisecond))
		leases := locker.acquire(t, "a", "b")
		free := p.fill(t)
		locker.renews(t, 1, leases...)
		locker.reset()
		proxy.Cut() // cuts the additional connection, because only renewals send statements now
		until(t, "a renewal that fails", func() bool { return locker.failures() > 0 })
		proxy.Restore()
		locker.renews(t, 2, leases...)
		for _, lease := range leases {
			require.NoError(t, lease.Release(t.Context()))
		}
		until(t, "the end of the further connection, which nobody uses", func() bool { return p.sessions() == poolSize })
		require.NoError(t, locker.Close())
		free()
	})
}

// If the server accepts no additional connection, a lease is lost, and the error says that the pool had no free
// connection.
func TestALossSaysThatThePoolWasFull(t *testing.T) {
	eachSmallPool(t, func(t *testing.T, open openSmall) {
		var proxy *faultproxy.Proxy
		p := open(through(t, &proxy))
		locker := newRenewing(t, p.Backend, rowlock.TTL(4*time.Second))
		p.fill(t)() // opens all connections of the pool
		lease := locker.acquire(t, "a")[0]
		proxy.PointAt("127.0.0.1:1") // no server listens at this address; set it before the pool is full, because otherwise a renewal could still connect
		p.fill(t)
		select {
		case <-lease.Context().Done():
		case <-time.After(20 * time.Second):
			require.Fail(t, "the lease outlives its TTL")
		}
		require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
		require.ErrorContains(t, lease.Err(), "no free connection in the pool (3 of 3 in use)")
		require.ErrorContains(t, lease.Err(), "the additional connection failed")
	})
}

// If the server refuses or ignores an additional connection, a renewal still gets a connection of the pool in order
// of arrival, even if many callers wait for the pool.
func TestRenewalsHaveTheirTurnInABusyPool(t *testing.T) {
	for name, refuse := range map[string]func(*faultproxy.Proxy){
		"refused": func(proxy *faultproxy.Proxy) { proxy.PointAt("127.0.0.1:1") }, // no server listens there
		"silence": func(proxy *faultproxy.Proxy) {
			var later atomic.Bool
			proxy.CutFrom(func(net.Addr) bool { return later.Load() })
			later.Store(true)
		},
	} {
		t.Run(name, func(t *testing.T) { busyPool(t, refuse) })
	}
}

func busyPool(t *testing.T, refuse func(*faultproxy.Proxy)) {
	t.Helper()
	eachSmallPool(t, func(t *testing.T, open openSmall) {
		var proxy *faultproxy.Proxy
		p := open(through(t, &proxy))
		locker := newRenewing(t, p.Backend, rowlock.TTL(10*time.Second), rowlock.RenewEvery(200*time.Millisecond))
		lease := locker.acquire(t, "a")[0]
		p.fill(t)()
		refuse(proxy)
		ctx, stop := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		for range 3 * poolSize {
			busy.Go(func() {
				for ctx.Err() == nil {
					if end, err := p.begin(t.Context()); err == nil {
						pause := time.NewTimer(5 * time.Millisecond)
						<-pause.C
						end()
					}
				}
			})
		}
		locker.renews(t, 4, lease)
		stop()
		busy.Wait()
		require.NoError(t, lease.Release(t.Context()))
	})
}
