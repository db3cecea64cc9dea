package advisory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// A thousand locks that are requested concurrently are held on at most four connections.
// Locks that are requested one at a time share one connection. After the last release, no connection is borrowed
// and the server holds no lock.
func TestManyNamesOnFewConnections(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		b, w := open(dsn, advisory.Sessions(4)), watch(t, dsn)
		for i := range 20 {
			acquire(t, b, fmt.Sprint("one at a time ", i))
		}
		assert.Equal(t, 1, w.sessions(), "the session was never busy at a request")
		grants := make([]driver.Grant, 1000)
		var all sync.WaitGroup
		for part := range 20 {
			all.Go(func() {
				for i := part; i < len(grants); i += 20 {
					grants[i], _ = b.Acquire(t.Context(), request(fmt.Sprint(i)))
				}
			})
		}
		all.Wait()
		assert.Equal(t, 1020, w.locks())
		assert.LessOrEqual(t, w.sessions(), 4)
		outcomes, err := b.Renew(t.Context(), grants)
		require.NoError(t, err)
		for i, o := range outcomes {
			assert.Equal(t, driver.Renewed, o, i)
		}
		l := locker(t, b)
		_, err = l.TryAcquire(t.Context(), "7")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		for _, g := range grants {
			require.NoError(t, b.Release(t.Context(), g))
		}
		assert.Equal(t, 20, w.locks())
	})
}

// While one session runs a statement, the backend can acquire another name on another session.
func TestABusySessionDelaysNoOtherName(t *testing.T) {
	t.Parallel()
	b := advisory.New(openPool(t, database(t)), advisory.Sessions(3)) // one of the three sessions is only for waiters
	acquire(t, b, "a")
	leave, err := b.Busy(t.Context())
	require.NoError(t, err)
	acquire(t, b, "b")
	leave()
}

// A call that waits for a free session returns when its context ends, and has sent nothing to the server.
func TestWaitingForASessionEndsWithContext(t *testing.T) {
	t.Parallel()
	b := advisory.New(openPool(t, database(t)), advisory.Sessions(1))
	g := acquire(t, b, "a")
	leave, err := b.Busy(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = b.Acquire(ctx, request("b"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, driver.IsNotApplied(err))
	leave()
	require.NoError(t, b.Release(t.Context(), g))
}

// A connection never returns to its pool holding a lock, whether calls succeed, fail, or are cancelled before or
// while they run. The test checks this from another session while all connections of the pool are idle.
func TestAPooledConnectionHoldsNothing(t *testing.T) {
	t.Parallel()
	through := func(engine string) func(t *testing.T, dsn string) (*advisory.Backend, func() bool) {
		return func(t *testing.T, dsn string) (*advisory.Backend, func() bool) {
			pool := openPool(t, by(t, sessionPooler(t, engine), dsn), conns(2))
			return advisory.New(pool, advisory.SessionPooler()), func() bool { return pool.Stat().AcquiredConns() == 0 }
		}
	}
	for name, kind := range map[string]func(t *testing.T, dsn string) (b *advisory.Backend, idle func() bool){
		"pgbouncer": through(testserver.PgBouncer), "pgbouncer_new": through(testserver.NewPgBouncer),
		"pgx": func(t *testing.T, dsn string) (*advisory.Backend, func() bool) {
			pool := openPool(t, dsn, conns(2))
			return advisory.New(pool), func() bool { return pool.Stat().AcquiredConns() == 0 }
		},
		"stdlib": func(t *testing.T, dsn string) (*advisory.Backend, func() bool) {
			db := openDB(t, dsn)
			db.SetMaxOpenConns(2)
			return advisory.NewDB(db), func() bool { return db.Stats().InUse == 0 }
		},
	} {
		compat := inCompat(t)
		if compat == (name == "pgx") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if compat {
				testenv.Compat(t)
			}
			t.Parallel()
			dsn := database(t)
			b, idle := kind(t, dsn)
			w := watch(t, dsn)
			for i := range 300 {
				r := request(fmt.Sprint(i % 3))
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(time.Duration(i) * 10 * time.Microsecond) // cancels at a random moment during the calls
					cancel()
				}()
				g, err := b.Acquire(ctx, r)
				if err == nil {
					_, _ = b.Renew(ctx, []driver.Grant{g})
					_ = b.Release(ctx, g)
				}
				cancel()
				g = driver.Grant{Key: r.Key, Nonce: r.Nonce} // the engine also releases after an unknown outcome
				err = b.Release(t.Context(), g)
				require.True(t, err == nil || err == driver.ErrNotHeld, "%v", err)
			}
			w.becomes("all connections are back in the pool", idle)
			w.becomes("nothing is locked", func() bool { return w.locks() == 0 })
		})
	}
}

// Release does not send an unlock if its context has already ended. If the context ends while the unlock runs,
// the unlock completes, and the session keeps its other locks.
func TestUnlockWithACancelledContext(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		b, w := open(dsn, advisory.Sessions(1)), watch(t, dsn)
		other, g := acquire(t, b, "other"), acquire(t, b, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, b.Release(ctx, g), context.Canceled)
		assert.Equal(t, 2, w.locks())

		leave, err := b.Busy(t.Context())
		require.NoError(t, err)
		ctx, cancel = context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Release(ctx, g) }()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		leave()
		require.NoError(t, b.Release(t.Context(), g))
		assert.Equal(t, 1, w.locks())
		outcomes, err := b.Renew(t.Context(), []driver.Grant{other})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)

		lease, err := locker(t, b).Acquire(t.Context(), "by lease")
		require.NoError(t, err)
		require.NoError(t, lease.Release(ctx))
		assert.Equal(t, 1, w.locks())
	})
}

// If a statement acquires the lock and then fails, the backend releases the lock. The session keeps its other locks.
func TestAFailedStatementLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	b, w := advisory.New(openPool(t, dsn), advisory.Sessions(1)), watch(t, dsn)
	g := acquire(t, b, "a")
	w.number("SELECT setval('rowlock_lease_token', 100)")
	_, err := w.db.ExecContext(t.Context(), "ALTER SEQUENCE rowlock_lease_token MAXVALUE 100")
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), request("b"))
	require.ErrorContains(t, err, "reached its end")
	assert.True(t, driver.IsPermanent(err))
	assert.Equal(t, 1, w.locks(), "only the other lock is left")
	outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
}

// The locks of two databases of one cluster are independent.
func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	one, two := advisory.New(openPool(t, testenv.Postgres(t)), advisory.NoToken()), advisory.New(openPool(t, testenv.Postgres(t)), advisory.NoToken())
	acquire(t, one, "a")
	g := acquire(t, two, "a")
	require.NoError(t, one.ForceRelease(t.Context(), g.Key, 0, true))
	outcomes, err := two.Renew(t.Context(), []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
}

// Holders and waiters keep no snapshot for long and no open transaction. So CREATE INDEX CONCURRENTLY finishes
// while they hold or wait, and VACUUM removes rows that were deleted in that time.
func TestNothingIsHeldUp(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	exec := func(statement string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := w.db.ExecContext(ctx, statement)
		require.NoError(t, err, statement)
	}
	exec("CREATE TABLE things AS SELECT generate_series(1, 1000) AS id")
	holder, waiter := locker(t, advisory.New(openPool(t, dsn)), rowlock.RenewEvery(10*time.Millisecond)), locker(t, advisory.New(openPool(t, dsn)))
	lease, err := holder.Acquire(t.Context(), "a")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	waiting, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = waiter.Acquire(ctx, "a", rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { close(waiting) }}))
	}()
	<-waiting
	assert.Zero(t, w.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in%'"))
	exec("CREATE INDEX CONCURRENTLY things_id ON things (id)")
	exec("DELETE FROM things")
	w.becomes("vacuum removes what no snapshot can see, except those of statements that are running now", func() bool {
		exec("VACUUM things")
		return w.number("SELECT pg_relation_size('things')") == 0
	})
	require.NoError(t, lease.Err())
	stop()
	<-done
}

// If the server answers an unlock with the report that the session did not have the lock,
// the backend closes the session, and all its leases are lost.
func TestAnswerOfAnUnlockIsChecked(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		b, w := open(dsn, advisory.Sessions(1)), watch(t, dsn)
		first, second, third := acquire(t, b, "a"), acquire(t, b, "b"), acquire(t, b, "c")
		require.NoError(t, b.OnSession(t.Context(), fmt.Sprintf("SELECT pg_advisory_unlock(%d)", advisory.Key("", "a"))))
		session := second.Session
		require.NoError(t, session.Err())
		require.ErrorIs(t, b.Release(t.Context(), first), driver.ErrNotHeld)
		<-session.Done()
		outcomes, err := b.Renew(t.Context(), []driver.Grant{second, third})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Lost, driver.Lost}, outcomes)
		w.becomes("the server has ended the session", func() bool { return w.locks() == 0 })
	})
}

// If an acquire is repeated with the same nonce, the backend returns the first grant only after the server has
// confirmed that the session still holds the lock.
func TestARepeatedAcquireIsProven(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		a, b := open(dsn), open(dsn)
		r := request("a")
		g, err := a.Acquire(t.Context(), r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.Release(context.Background(), g) })
		again, err := a.Acquire(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, g, again)
		require.NoError(t, a.OnSession(t.Context(), "SELECT pg_advisory_unlock_all()"))
		acquire(t, b, "a")
		_, err = a.Acquire(t.Context(), r)
		var held *driver.Held
		require.ErrorAs(t, err, &held)
	})
}
